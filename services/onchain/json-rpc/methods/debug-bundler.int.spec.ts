import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { userOpHash } from '../../operations/domain/operation-hash.ts';
import { accountImplementation } from '../../smart-accounts/domain/smart-account.ts';
import { nonceOf, type UserOperation } from '../../operations/domain/user-operation.ts';
import { IMPLEMENTATION_SLOT } from '../../../../shared/chain/state/eip-1967.ts';
import { RpcUnderTest, type OwnedAccount } from '../../testing/rpc-under-test.ethers.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { SendsUnderTest } from '../../testing/sends-under-test.ethers.ts';

const folder = temporaryFolder();
const HAPPENS_WITHIN_MS = 20_000;
const quantity = (value: number): string => `0x${value.toString(16)}`;

describe('debug_bundler_*', () => {
  let sends: SendsUnderTest;
  let rpc: RpcUnderTest;
  let account: OwnedAccount;
  let entryPoint: string;
  let key = 100n;
  beforeAll(async () => {
    // However busy the machine is, no request for a bundle becomes too old.
    const stoppedAt = Date.now();
    sends = await SendsUnderTest.start(folder, { executors: 1, settings: { RPC_DEBUG: 'on' }, stoppedAt });
    rpc = await RpcUnderTest.start(sends);
    account = await rpc.deployed();
    ({ entryPoint } = sends.prepared);
  });
  afterAll(() => sends.stop());
  beforeEach(() => setMode('manual'));
  afterEach(async () => {
    await sends.testChain.setAutomine(true);
    await sends.mine(1);
    await clear();
  });

  const setMode = async (mode: string) =>
    expect(await rpc.call('debug_bundler_setBundlingMode', mode)).toMatchObject({ result: 'ok' });
  const clear = async () => expect(await rpc.call('debug_bundler_clearState')).toMatchObject({ result: 'ok' });
  const sendBundle = async () => (await rpc.call('debug_bundler_sendBundleNow')).result;
  const mempool = async () => (await rpc.call('debug_bundler_dumpMempool', entryPoint)).result;
  const reputations = async () => (await rpc.call('debug_bundler_dumpReputation', entryPoint)).result;
  const setReputation = async (address: string, opsSeen: number, opsIncluded: number) => {
    const entry = { address, opsSeen: quantity(opsSeen), opsIncluded: quantity(opsIncluded) };
    const answer = await rpc.call('debug_bundler_setReputation', [entry], entryPoint);
    expect(answer).toMatchObject({ result: 'ok' });
  };
  const hashOf = (operation: UserOperation) => userOpHash(operation, entryPoint, Anvil.chainId);
  /** Of a key of its own. */
  const operation = (by = account, changes: Partial<UserOperation> = {}) =>
    rpc.operation(by, { nonce: nonceOf((key += 1n), 0n), ...changes });
  const accepted = async (one: UserOperation) => {
    expect(await rpc.send(one)).toMatchObject({ result: hashOf(one) });
    return one;
  };
  const transactionOf = async (one: UserOperation) =>
    ((await rpc.call('eth_getUserOperationByHash', hashOf(one))).result as { transactionHash: string | null })
      .transactionHash;
  const includedBy = async (one: UserOperation) =>
    (await rpc.receipt(hashOf(one)))['receipt'] as { transactionHash: string };
  /** An account that its owner has given other code: nobody knows what it does. */
  const foreign = async (): Promise<OwnedAccount> => {
    await setMode('auto');
    const one = await rpc.deployed();
    await setMode('manual');
    const ours = accountImplementation(sends.prepared.accountFactory);
    const copy = randomWallet().address;
    await sends.testChain.call('anvil_setCode', copy, await sends.testChain.call('eth_getCode', ours, 'latest'));
    const word = `0x${copy.slice(2).toLowerCase().padStart(64, '0')}`;
    await sends.testChain.call('anvil_setStorageAt', one.address, IMPLEMENTATION_SLOT, word);
    await clear();
    return one;
  };

  it('bundles in manual mode what waits, when it is told to, and nothing before', async () => {
    const [first, second] = [await accepted(operation()), await accepted(operation())];
    expect(await mempool()).toEqual([rpc.form(first), rpc.form(second)]);
    await sends.mine(2);
    expect(await transactionOf(first)).toBeNull();
    for (const one of [first, second]) {
      const transactionHash = await sendBundle();
      expect(transactionHash).toMatch(/^0x[0-9a-f]{64}$/);
      expect(await includedBy(one)).toMatchObject({ transactionHash });
    }
    expect(await mempool()).toEqual([]);
    expect(await sendBundle()).toBeNull();
  });

  it('bundles by itself again in auto mode', async () => {
    const waiting = await accepted(operation());
    await setMode('auto');
    await includedBy(waiting);
  });

  it('answers once the executor that is busy can send', async () => {
    await sends.testChain.setAutomine(false);
    await accepted(operation());
    const first = await sendBundle();
    const second = await accepted(operation());
    const asked = sendBundle();
    await eventually(
      async () => {
        const { eventStore } = sends.foundation;
        return (await eventStore.read(`bundler-${String(Anvil.chainId)}`)).at(-1)?.type === 'BundleRequested';
      },
      HAPPENS_WITHIN_MS,
      'a bundle must be asked for',
    );
    await eventually(() => rpc.nodeHasNewestBundle(), HAPPENS_WITHIN_MS, 'the node must have the newest bundle');
    await sends.mine(1);
    const transactionHash = await asked;
    expect(transactionHash).not.toBeNull();
    expect(transactionHash).not.toBe(first);
    await eventually(() => rpc.nodeHasNewestBundle(), HAPPENS_WITHIN_MS, 'the node must have the newest bundle');
    await sends.mine(1);
    expect(await includedBy(second)).toMatchObject({ transactionHash });
  });

  it('takes out of the mempool what was accepted, and carries it out when it is sent again', async () => {
    const one = await accepted(operation());
    await clear();
    expect(await mempool()).toEqual([]);
    expect(await sendBundle()).toBeNull();
    expect(await transactionOf(one)).toBeNull();
    await accepted(one);
    expect(await mempool()).toEqual([rpc.form(one)]);
    expect(await sendBundle()).not.toBeNull();
    await includedBy(one);
  });

  it('lets another operation have the nonce of one that was taken out, for no more than that paid', async () => {
    const nonce = nonceOf((key += 1n), 0n);
    const one = await accepted(operation(account, { nonce }));
    const other = operation(account, { nonce, callGasLimit: 90_000n });
    expect(await rpc.send(other)).toMatchObject({ error: { code: rpcCodes.invalidParams } });
    await clear();
    await accepted(other);
    expect(await mempool()).toEqual([rpc.form(other)]);
    expect(await sendBundle()).not.toBeNull();
    await includedBy(other);
    expect(await transactionOf(one)).toBeNull();
  });

  it('refuses whoever has a reputation that bans, and lets the throttled have few operations', async () => {
    const { address, ...by } = await foreign();
    const stranger = { address, ...by };
    await setReputation(address, 511, 0);
    expect(await reputations()).toEqual([{ address, opsSeen: quantity(511), opsIncluded: '0x0', status: 'banned' }]);
    const refused = { error: { code: rpcCodes.throttled, data: { address } } };
    expect(await rpc.send(operation(stranger))).toMatchObject(refused);
    await setReputation(address, 600, 10);
    expect(await reputations()).toMatchObject([{ status: 'throttled' }]);
    await accepted(operation(stranger));
    await setReputation(address, 109, 0);
    expect(await reputations()).toMatchObject([{ opsSeen: quantity(109), status: 'ok' }]);
  });

  it('counts what it has seen of others, and what blocks have', async () => {
    const stranger = await foreign();
    const one = await accepted(operation(stranger));
    const counted = { address: stranger.address, opsSeen: '0x1', opsIncluded: '0x0', status: 'ok' };
    expect(await reputations()).toEqual([counted]);
    await sendBundle();
    await includedBy(one);
    expect(await reputations()).toEqual([{ ...counted, opsIncluded: '0x1' }]);
    await clear();
    expect(await reputations()).toEqual([]);
  });

  it('forgets who was banned, and what waited', async () => {
    const stranger = await foreign();
    await setReputation(stranger.address, 1_000, 0);
    await clear();
    for (let pending = 0; pending < 4; pending += 1) await accepted(operation(stranger));
    expect(await rpc.send(operation(stranger))).toMatchObject({ error: { code: rpcCodes.throttled } });
    await clear();
    await accepted(operation(stranger));
  });
});
