import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { id, keccak256, toUtf8Bytes, zeroPadValue } from 'ethers';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { FORKS } from '../operations/domain/fork-rules.ts';
import { userOpHash } from '../operations/domain/operation-hash.ts';
import { accountImplementation } from '../smart-accounts/domain/smart-account.ts';
import { execute, OperationsOnChain } from '../testing/operations-on-chain.ethers.ts';
import { JsonRpcOperationsChain } from './operations-chain.json-rpc.ts';
import type { Simulation } from './operations-chain.ts';
import { IMPLEMENTATION_SLOT } from '../../../shared/chain/state/eip-1967.ts';

const ETHER = 10n ** 18n;
const folder = temporaryFolder();
/** Reverts with four bytes: PUSH4, PUSH1 0, MSTORE, PUSH1 4, PUSH1 28, REVERT. */
const REVERTS = '0x63c0ffee006000526004601cfd';

describe('the chain of operations, on anvil', () => {
  let local: OperationsOnChain;
  beforeAll(async () => {
    local = await OperationsOnChain.start(folder);
  });
  afterAll(() => local.stop());

  const valid = (simulation: Simulation | undefined) => {
    if (simulation?.kind !== 'valid') throw new Error(`refused: ${JSON.stringify(simulation)}`);
    return simulation;
  };

  it('says which blocks there are, and what a block offers', async () => {
    const head = await local.chain.head();
    expect(head.gasLimit).toBeGreaterThan(1_000_000n);
    const [before, none, same] = await local.chain.blocks([head.number - 1, head.number + 9, head.number]);
    expect(same).toEqual(head);
    expect(none).toBeUndefined();
    expect(head.parentHash).toBe(before?.hash);
    expect(await local.chain.tips()).toEqual({ asked: expect.any(BigInt), least: 0n });
    expect(await local.chain.forkRules()).toEqual(FORKS[Anvil.hardfork]);
  });

  it('says what is at addresses, and how far nonces are', async () => {
    const owner = randomWallet();
    const nobody = randomWallet().address;
    const sender = local.addressOf(owner);
    await local.deploy(owner);
    await local.fund(sender, 7n);
    const [account, paymaster, empty] = await local.chain.accounts([sender, local.paymaster, nobody]);
    expect(account).toEqual({ wei: 7n, hasCode: true, depositWei: 0n });
    expect(paymaster).toMatchObject({ hasCode: true });
    expect(paymaster?.depositWei).toBeGreaterThan(9n * ETHER);
    expect(empty).toEqual({ wei: 0n, hasCode: false, depositWei: 0n });
    const keys = [0n, 5n, 2n ** 192n - 1n].map((key) => ({ sender, key }));
    expect(await local.chain.sequences(keys)).toEqual([1n, 0n, 0n]);
  });

  it('says what accounts run, and nothing of a contract that only names our implementation', async () => {
    const owner = randomWallet();
    const sender = local.addressOf(owner);
    const ours = accountImplementation(local.settings.accountFactory);
    const impostor = await local.contract('0x00');
    const runs = (address: string, implementation: string) =>
      local.testChain.call('anvil_setStorageAt', address, IMPLEMENTATION_SLOT, zeroPadValue(implementation, 32));
    await runs(impostor, ours);
    expect(await local.chain.implementations([sender, impostor, local.paymaster])).toEqual(
      Array<undefined>(3).fill(undefined),
    );
    await local.deploy(owner);
    expect(await local.chain.implementations([impostor, sender])).toEqual([undefined, ours]);
    await runs(sender, impostor);
    expect(await local.chain.implementations([sender])).toEqual([impostor]);
  });

  it('simulates several operations at once, each with its own result', async () => {
    const owner = randomWallet();
    const reverting = await local.contract(REVERTS);
    const fresh = local.operation(owner, { factory: local.factoryOf(owner), sponsored: true });
    const simulations = await local.chain.simulate([
      { operation: fresh, target: { address: reverting, data: '0x' } },
      { operation: local.operation(owner, { sponsored: true }) },
      { operation: { ...fresh, nonce: 3n } },
      { operation: { ...fresh, verificationGasLimit: 10_000n } },
      { operation: local.operation(owner, { factory: local.factoryOf(owner) }) },
    ]);
    const first = valid(simulations[0]);
    expect(first).toMatchObject({ targetSuccess: false, targetResult: '0xc0ffee00' });
    expect(first.account).toEqual({ failed: true, after: 0, until: 0 });
    expect(first.paymaster).toMatchObject({ failed: true, after: 0x01010101 });
    expect(first.preOpGas).toBeGreaterThan(150_000n);
    expect(simulations.slice(1)).toMatchObject([
      { kind: 'refused', reason: 'AA20 account not deployed' },
      { kind: 'refused', reason: 'AA25 invalid account nonce' },
      { kind: 'refused', reason: 'AA13 initCode failed or OOG' },
      { kind: 'refused', reason: "AA21 didn't pay prefund" },
    ]);
  });

  it('finds signatures and times valid where they are', async () => {
    const owner = randomWallet();
    const signed = local.sign(owner, local.operation(owner, { factory: local.factoryOf(owner), sponsored: true }));
    const simulation = valid((await local.chain.simulate([{ operation: signed }]))[0]);
    expect(simulation.account).toEqual({ failed: false, after: 0, until: 0 });
    expect(simulation.paymaster).toEqual({ failed: false, after: 0, until: 0xffffffffffff });
  });

  it('simulates an account as if its owner had deployed it, and with the state that the caller wants', async () => {
    const owner = randomWallet();
    const operation = local.sign(owner, local.operation(owner));
    const asDeployed = { address: operation.sender, owner: owner.address };
    const stateOverride = { [operation.sender.toLowerCase()]: { balance: '0xde0b6b3a7640000' } };
    const owned = { address: operation.sender, data: id('owner()').slice(0, 10) };
    const [poor, rich] = await local.chain.simulate([
      { operation, asDeployed },
      { operation, asDeployed, stateOverride, target: owned },
    ]);
    expect(poor).toMatchObject({ kind: 'refused', reason: "AA21 didn't pay prefund" });
    const simulation = valid(rich);
    expect(simulation.account.failed).toBe(false);
    expect(simulation.targetResult).toBe(`0x${owner.address.slice(2).toLowerCase().padStart(64, '0')}`);
    await local.deploy(owner);
    const after = { ...operation, nonce: 1n };
    const [deployed] = await local.chain.simulate([{ operation: after, stateOverride, target: owned }]);
    expect(valid(deployed).targetResult).toBe(simulation.targetResult);
  });

  it('takes the beginning of what a target returns, however much it is', async () => {
    const owner = randomWallet();
    // Reverts with half a megabyte, of which the first byte is 0xab: MSTORE8(0, 0xab), REVERT(0, 524,288).
    const long = await local.contract('0x60ab600053620800006000fd');
    const operation = local.operation(owner, { factory: local.factoryOf(owner), sponsored: true });
    const simulations = await local.chain.simulate([
      { operation, target: { address: long, data: '0x' } },
      { operation },
    ]);
    const { targetSuccess, targetResult } = valid(simulations[0]);
    expect(targetSuccess).toBe(false);
    expect(targetResult).toMatch(/^0xab0{7000,8000}$/);
    expect(valid(simulations[1])).toMatchObject({ targetSuccess: true, targetResult: '0x' });
  });

  it('does not blame the node for a state override that makes no sense', async () => {
    const operation = local.operation(randomWallet());
    const stateOverride = { [operation.sender]: { balance: 'much' } };
    expect(await local.chain.simulate([{ operation, stateOverride }])).toMatchObject([{ kind: 'refused', reason: '' }]);
  });

  it('measures a bundle as it is executed', async () => {
    const owners = [randomWallet(), randomWallet(), randomWallet()];
    const operations = owners.map((owner) =>
      local.sign(owner, local.operation(owner, { factory: local.factoryOf(owner), sponsored: true })),
    );
    const trial = await local.chain.tryBundle(operations, local.executor.address);
    const { gasUsed, inclusions } = await local.include(operations);
    expect(inclusions).toHaveLength(3);
    expect(inclusions.every(({ success, deployed }) => success && deployed)).toBe(true);
    if (trial.kind !== 'ok') throw new Error(JSON.stringify(trial));
    const own = gasUsed - trial.gasUsed;
    // 21,000, and 16 for each byte of some 3 KB that is not zero, less what the chain gives back.
    expect(own).toBeGreaterThan(21_000n);
    expect(own).toBeLessThan(90_000n);
  });

  it('says which operation fails a bundle, and tells a revert that names none', async () => {
    const [good, bad, none] = [randomWallet(), randomWallet(), randomWallet()];
    const operations = [good, bad].map((owner) =>
      local.sign(owner, local.operation(owner, { factory: local.factoryOf(owner), sponsored: true })),
    );
    const [first, second] = operations as [(typeof operations)[0], (typeof operations)[0]];
    const { address } = local.executor;
    const wrong = { ...second, signature: first.signature };
    expect(await local.chain.tryBundle([first, wrong], address)).toEqual({
      kind: 'failed',
      index: 1,
      reason: 'AA24 signature error',
      revertData: '0x',
    });
    const withoutCode = local.sign(none, local.operation(none, { sponsored: true }));
    expect(await local.chain.tryBundle([first, withoutCode], address)).toEqual({ kind: 'reverted', revertData: '0x' });
  });

  it('reads what became of operations', async () => {
    const owner = randomWallet();
    const reverting = await local.contract(REVERTS);
    const factory = local.factoryOf(owner);
    const operation = local.sign(
      owner,
      local.operation(owner, { factory, callData: execute(reverting), sponsored: true }),
    );
    const {
      inclusions: [inclusion],
    } = await local.include([operation]);
    const hash = userOpHash(operation, local.chain.entryPoint, local.chain.chainId);
    expect(inclusion).toMatchObject({
      userOpHash: hash,
      sender: operation.sender,
      nonce: 0n,
      paymaster: local.paymaster,
      success: false,
      deployed: true,
      revertReason: '0xc0ffee00',
    });
    const [known, unknown] = await local.chain.receipts([inclusion?.transactionHash ?? '', hash]);
    expect(known).toMatchObject({ success: true, blockHash: inclusion?.blockHash });
    expect(unknown).toBeUndefined();
    const head = await local.chain.head();
    expect((await local.chain.inclusions(0, head.number)).at(-1)).toEqual(inclusion);
  });

  it('says what became of a transaction', async () => {
    const poor = randomWallet();
    const { executor, chain } = local;
    const outcomeOf = async (raw: string) => (await chain.send(raw)).outcome;
    const before = (await chain.head()).number;
    const nonce = await chain.transactionCount(executor.address, before);
    const base = { to: poor.address, value: 1n, gasLimit: 21_000n, chainId: chain.chainId, type: 2 };
    const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
    const raw = await executor.signTransaction({ ...base, ...fees, nonce });
    await local.testChain.setAutomine(false);
    expect(await outcomeOf(raw)).toBe('known');
    expect(await outcomeOf(raw)).toBe('known');
    expect(await outcomeOf(await executor.signTransaction({ ...base, ...fees, value: 2n, nonce }))).toBe('underpriced');
    await local.testChain.mineBlocks(1);
    await local.testChain.setAutomine(true);
    expect(await outcomeOf(await executor.signTransaction({ ...base, ...fees, value: 2n, nonce }))).toBe(
      'nonce-too-low',
    );
    expect(await chain.transactionCount(executor.address, (await chain.head()).number)).toBe(nonce + 1);
    expect(await chain.transactionCount(executor.address, before)).toBe(nonce);
    await expect(chain.transactionCount(executor.address, before + 1_000_000)).rejects.toThrow(ChainUnavailable);
    const cheap = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
    expect(await outcomeOf(await executor.signTransaction({ ...base, ...cheap, nonce: nonce + 1 }))).toBe(
      'pays-too-little',
    );
    const broke = randomWallet();
    expect(await outcomeOf(await broke.signTransaction({ ...base, ...fees, nonce: 0 }))).toBe('insufficient-funds');
    const unsigned = `0x02${keccak256(toUtf8Bytes('no transaction')).slice(2)}`;
    expect(await chain.send(unsigned)).toMatchObject({ outcome: 'refused', words: expect.stringMatching(/./) });
  });

  it('is unavailable once it is closed', async () => {
    const client = new ChainClient(Anvil.chainId, [local.testChain.rpcUrl]);
    const closed = new JsonRpcOperationsChain(client, local.settings);
    client.close();
    await expect(closed.head()).rejects.toBeInstanceOf(ChainUnavailable);
  });
});
