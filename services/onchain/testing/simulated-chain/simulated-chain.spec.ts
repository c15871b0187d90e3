import { describe, expect, it } from '@jest/globals';
import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { addressOfKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { signDigest } from '../../../../shared/keys/signatures/sign-digest.ts';
import { createAccountData, executeCall } from '../../operations/domain/account-calls.ts';
import { signedTransaction, transactionDigest, transactionHash } from '../../bundler/domain/bundle-transaction.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import { accountAddress } from '../../smart-accounts/domain/smart-account.ts';
import { maxCostOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { signOperation } from '../signed-operation.ts';
import { SimulatedChain, type SimulatedChainOptions } from './simulated-chain.ts';
import { SimulatedNode } from './simulated-node.ts';
import { named } from './simulated-state.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
const [EXECUTOR, PAYMASTER, OWNER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
const executor = addressOfKey(EXECUTOR);
const contracts = {
  chainId: 2484,
  entryPoint: '0x0000000071727De22E5E9d8BAf0edAc6f37da032',
  factory: '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985',
  implementation: '0x0000000000000000000000000000000000000001',
  paymaster: { address: '0x0000000000000000000000000000000000000002', signer: addressOfKey(PAYMASTER) },
  refusing: new Map<string, string>(),
};
const FRIEND = '0x0000000000000000000000000000000000000009';
const sender = accountAddress(contracts.factory, addressOfKey(OWNER));

const given = (options: Partial<SimulatedChainOptions> = {}, seed = 1): SimulatedChain => {
  const chain = new SimulatedChain({
    ...contracts,
    random: new SeededRandom(seed),
    genesisTime: 1_000_000,
    ...options,
  });
  chain.sendWei(executor, 10n * ETHER);
  chain.sendWei(sender, ETHER);
  chain.depositWei(contracts.paymaster.address, ETHER);
  chain.mine();
  return chain;
};

const operation = (changes: Partial<UserOperation> = {}): UserOperation =>
  signOperation(
    {
      ...{ sender, nonce: 0n, factory: { address: contracts.factory, data: createAccountData(addressOfKey(OWNER)) } },
      callData: executeCall({ to: FRIEND, value: 1n, data: '0x' }),
      ...{ callGasLimit: 100_000n, verificationGasLimit: 400_000n, preVerificationGas: 50_000n },
      ...{ maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI, paymaster: undefined, signature: '0x' },
      ...changes,
    },
    { ...contracts, owner: OWNER, paymaster: { key: PAYMASTER, validUntil: 2_000_000, validAfter: 0 } },
  );
const sponsored = {
  paymaster: { address: contracts.paymaster.address, verificationGasLimit: 60_000n, postOpGasLimit: 0n, data: '0x' },
};

const bundle = (nonce: number, operations: UserOperation[], fee = 20n * GWEI): string => {
  const fees = { maxFeePerGas: fee, maxPriorityFeePerGas: fee / 10n };
  const data = encodeHandleOps(operations, executor);
  const transaction = { chainId: 2484, nonce, gasLimit: 2_000_000n, ...fees, to: contracts.entryPoint, data };
  return signedTransaction(transaction, signDigest(EXECUTOR, transactionDigest(transaction)));
};

const depositOf = (chain: SimulatedChain) => chain.state.get(named.deposit(contracts.paymaster.address));

describe('a simulated chain', () => {
  it('executes an operation once, and charges the deposit with the cost that the event names', () => {
    const chain = given();
    chain.send(bundle(0, [operation(sponsored)]));
    chain.mine();
    const [included] = chain.inclusions();
    expect(included).toMatchObject({ sender, success: true, deployed: true, paymaster: contracts.paymaster.address });
    expect(depositOf(chain)).toBe(ETHER - (included?.actualGasCost ?? 0n));
    expect(chain.state.get(named.wei(FRIEND))).toBe(1n);
    chain.send(bundle(1, [operation(sponsored)]));
    chain.mine();
    expect(chain.inclusions()).toHaveLength(1);
    expect(chain.countOf(executor)).toBe(2);
    expect(chain.try([operation({ factory: undefined })], executor)).toMatchObject({
      reason: 'AA25 invalid account nonce',
    });
  });

  it('undoes the changes of orphaned blocks, and includes their transactions in other blocks', () => {
    const chain = given();
    const raw = bundle(0, [operation(sponsored)]);
    chain.send(raw);
    const { hash } = chain.mine();
    chain.sendWei(FRIEND, 5n);
    chain.mine();
    chain.reorganise(2);
    expect(depositOf(chain)).toBe(ETHER);
    expect([chain.countOf(executor), chain.inclusions().length, chain.pool.size]).toEqual([0, 0, 1]);
    expect(chain.orphanedReceiptOf(transactionHash(raw))?.blockHash).toBe(hash);
    chain.mine();
    expect(chain.receiptOf(transactionHash(raw))?.success).toBe(true);
    expect(chain.receiptOf(transactionHash(raw))?.blockHash).not.toBe(hash);
    expect(chain.state.get(named.wei(FRIEND))).toBe(6n);
  });

  it('may lose the transactions of orphaned blocks, and forget those of its pool', () => {
    const losing = given({ losesTransactions: 1 });
    losing.send(bundle(0, [operation()]));
    losing.mine();
    losing.reorganise(1);
    expect(losing.pool.size).toBe(0);
    const forgetting = given({ pool: { forgets: 1 } });
    forgetting.send(bundle(0, [operation()]));
    forgetting.mine();
    expect([forgetting.pool.size, forgetting.countOf(executor)]).toEqual([0, 0]);
  });

  it('replaces a transaction by another with both fees a tenth higher, but may still mine the replaced transaction', () => {
    for (const minesReplaced of [0, 1]) {
      const chain = given({ pool: { minesReplaced } });
      const raws = [20n, 21n, 22n].map((fee) => bundle(0, [operation()], fee * GWEI));
      expect(raws.map((raw) => chain.send(raw).outcome)).toEqual(['known', 'underpriced', 'known']);
      chain.mine();
      const mined = raws.map((raw) => chain.receiptOf(transactionHash(raw)) !== undefined);
      expect(mined).toEqual(minesReplaced === 1 ? [true, false, false] : [false, false, true]);
      expect(chain.pool.size).toBe(0);
    }
  });

  it('lets transactions wait that are behind a nonce gap, pay less than the base fee, or cost more than the balance', () => {
    const chain = given();
    chain.send(bundle(1, []));
    chain.mine();
    expect([chain.countOf(executor), chain.pool.size]).toEqual([0, 1]);
    chain.send(bundle(0, []));
    chain.mine({ baseFeePerGas: 30n * GWEI });
    expect(chain.countOf(executor)).toBe(0);
    chain.state.set(named.wei(executor), 0n);
    chain.mine({ baseFeePerGas: GWEI });
    expect([chain.countOf(executor), chain.send(bundle(2, [])).outcome]).toEqual([0, 'insufficient-funds']);
    chain.sendWei(executor, ETHER);
    chain.mine({ baseFeePerGas: GWEI });
    expect([chain.countOf(executor), chain.pool.size]).toEqual([2, 0]);
  });

  it('shows strangers each signed operation: they submit it or deploy its account, and owners empty accounts', () => {
    const submitting = given({ strangers: { bundle: 1 } });
    submitting.simulate({ operation: { ...operation(), signature: operation({ nonce: 1n }).signature } });
    for (let block = 0; block < 20; block += 1) submitting.mine();
    expect(submitting.inclusions()).toHaveLength(0);
    submitting.simulate({ operation: operation() });
    for (let block = 0; block < 20; block += 1) submitting.mine();
    expect(submitting.inclusions()).toHaveLength(1);
    expect(submitting.countOf(executor)).toBe(0);

    const deploying = given({ strangers: { deploy: 1, drain: 1 } });
    deploying.try([operation()], executor);
    deploying.mine();
    expect(deploying.try([operation()], executor)).toMatchObject({ reason: 'AA10 sender already constructed' });
    const behind = operation({ factory: undefined });
    expect(deploying.try([behind], executor)).toMatchObject({ index: 0, reason: "AA21 didn't pay prefund" });
    deploying.sendWei(sender, maxCostOf(behind));
    expect(deploying.simulate({ operation: operation({ factory: undefined, ...sponsored }) }).kind).toBe('valid');
  });

  it('names the reason for a refused simulation, and the cost of a valid one', () => {
    const chain = given();
    const reasonOf = (refused: UserOperation) => {
      const simulation = chain.simulate({ operation: refused });
      return simulation.kind === 'refused' ? simulation.reason : simulation.kind;
    };
    expect(reasonOf(operation({ factory: undefined }))).toBe('AA20 account not deployed');
    const foreign = { paymaster: { ...sponsored.paymaster, address: FRIEND } };
    expect(reasonOf(operation(foreign))).toBe('AA30 paymaster not deployed');
    const stub = chain.simulate({ operation: { ...operation(sponsored), signature: operation().signature } });
    expect(stub).toMatchObject({
      kind: 'valid',
      account: { failed: true },
      paymaster: { failed: false, until: 2_000_000 },
    });
    const asDeployed = { address: sender, owner: addressOfKey(OWNER) };
    const target = { address: sender, data: executeCall({ to: FRIEND, value: 10n * ETHER, data: '0x' }) };
    const simulation = chain.simulate({ operation: operation({ factory: undefined }), asDeployed, target });
    expect(simulation).toMatchObject({ kind: 'valid', targetSuccess: false });
    expect(chain.state.get(named.code(sender))).toBe(0n);
  });

  it('repeats itself with the same seed', () => {
    const run = (seed: number) => {
      const habits = {
        pool: { forgets: 0.2, minesReplaced: 0.2 },
        strangers: { bundle: 0.3, deploy: 0.1, drain: 0.1 },
      };
      const chain = given({ ...habits, losesTransactions: 0.5 }, seed);
      for (let round = 0; round < 30; round += 1) {
        chain.send(bundle(chain.countOf(executor), [operation({ nonce: BigInt(round) << 64n })]));
        chain.mine();
        if (round % 5 === 4) chain.reorganise(3);
      }
      return [chain.head, chain.inclusions()];
    };
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
  });
});

describe('a node of a simulated chain', () => {
  const nodeOf = (chain: SimulatedChain, habits = {}, between?: () => void) =>
    new SimulatedNode(chain, new SeededRandom(5), habits, between);

  it('answers correctly without faults', async () => {
    const chain = given();
    const node = nodeOf(chain);
    const raw = bundle(0, [operation(sponsored)]);
    expect(await node.send(raw)).toEqual({ outcome: 'known', words: '' });
    chain.mine();
    expect(await node.head()).toBe(chain.head);
    expect(await node.blocks([chain.head.number, 99])).toEqual([chain.head, undefined]);
    expect(await node.inclusions(0, 9)).toEqual(chain.inclusions());
    expect(await node.receipts([transactionHash(raw), '0x'])).toMatchObject([{ success: true }, undefined]);
    expect(await node.transactionCount(executor, chain.head.number)).toBe(1);
    expect(
      await node.sequences([
        { sender, key: 0n },
        { sender, key: 1n },
      ]),
    ).toEqual([1n, 0n]);
    const [state, none] = await node.accounts([sender, FRIEND]);
    expect(state).toEqual({ wei: ETHER - 1n, hasCode: true, depositWei: 0n });
    expect(none).toMatchObject({ wei: 1n, hasCode: false });
    expect(await node.tryBundle([operation()], executor)).toMatchObject({ kind: 'failed', index: 0 });
    expect(await node.simulate([{ operation: operation({ nonce: 1n, factory: undefined }) }])).toMatchObject([
      { kind: 'valid' },
    ]);
    expect((await node.tips()).asked).toBeGreaterThan(0n);
  });

  it('may accept a transaction without an answer, and may not answer at all', async () => {
    const chain = given();
    await expect(nodeOf(chain, { failsAfterSend: 1 }).send(bundle(0, []))).rejects.toThrow(ChainUnavailable);
    expect(chain.pool.size).toBe(1);
    await expect(nodeOf(chain, { unavailable: 1 }).head()).rejects.toThrow(ChainUnavailable);
  });

  it('may answer with an earlier state, or with a state that never comes', async () => {
    const chain = given();
    const raw = bundle(0, [operation()]);
    chain.send(raw);
    chain.mine();
    expect((await nodeOf(chain, { staleHead: 1 }).head()).number).toBeLessThan(chain.head.number);
    const asked = nodeOf(chain, { staleHead: 1 }).transactionCount(executor, chain.head.number);
    await expect(asked).rejects.toThrow(ChainUnavailable);
    expect(await nodeOf(chain, { sequenceTooHigh: 1 }).sequences([{ sender, key: 0n }])).toEqual([2n]);
    expect(await nodeOf(chain, { staleState: 1 }).accounts([sender])).toMatchObject([{ hasCode: false }]);
    expect(await nodeOf(chain, { logsMissing: 1 }).inclusions(0, chain.head.number)).toEqual([]);
    expect(await nodeOf(chain, { receiptMissing: 1 }).receipts([transactionHash(raw)])).toEqual([undefined]);
    const { hash } = chain.head;
    chain.reorganise(1);
    expect(await nodeOf(chain, { receiptStale: 1 }).receipts([transactionHash(raw)])).toMatchObject([
      { blockHash: hash },
    ]);
  });

  it('lets a crash, a block or a reorganisation happen between a call and its answer', async () => {
    const chain = given();
    const asked: string[] = [];
    const crash = new Error('the process was killed');
    const node = new SimulatedNode(chain, new SeededRandom(5), {}, (method, when) => {
      asked.push(`${when} ${method}`);
      if (when === 'after' && method === 'send') throw crash;
    });
    await node.head();
    await expect(node.send(bundle(0, []))).rejects.toBe(crash);
    expect(asked).toEqual(['before head', 'after head', 'before send', 'after send']);
    expect(chain.pool.size).toBe(1);
  });
});
