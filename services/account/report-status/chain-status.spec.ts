import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { executorStream } from '../../../schemas/events/onchain/executor-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { AccountStatus } from '../../../schemas/http/account/account-routes.ts';
import { MemoryChain } from '../../../shared/testing/chain/chain-reader.memory.ts';
import { anEvent, storedEvent } from '../../../shared/testing/event-builder.ts';
import { JsonRpcNode } from '../../../shared/testing/chain/json-rpc-node.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { reservationsModel } from '../../../shared/read-models/onchain/reservations.ts';
import { transactionsModel } from '../../../shared/read-models/onchain/transactions.ts';
import { startAccountUnderTest, type AccountUnderTest } from '../testing/account-under-test.ethers.ts';

const folder = temporaryFolder();
const { paymaster, executors } = eventExamples.ChainPrepared;
const DEPOSIT = 1_000n;
const KEPT_MS = 5_000;
/** What 100,000 gas cost at the base fee of the node. */
const BUNDLE_WEI = 100_000n * 10n ** 9n;

const hex = (value: bigint): string => `0x${value.toString(16)}`;

describe('the status of a chain on which operations are sent', () => {
  let node: JsonRpcNode;
  let account: AccountUnderTest;
  /** By address, lower case. */
  let balances: Map<string, bigint>;

  const start = async (more: object = {}) => {
    const CHAINS = JSON.stringify([{ chainId: 7, rpcUrls: [node.url], ...more }]);
    account = await startAccountUnderTest(folder, { CHAINS });
    const data = { ...eventExamples.ChainPrepared, chainId: 7 };
    await account.foundation.eventStore.append('onchain-7', -1, [anEvent({ type: 'ChainPrepared', data })]);
  };
  beforeEach(async () => {
    node = await JsonRpcNode.start(new MemoryChain(7));
    balances = new Map(executors.map((executor) => [executor.toLowerCase(), BUNDLE_WEI]));
    node.lie = (method, truth, [first]) => {
      if (method === 'eth_getBalance') return hex(balances.get(String(first).toLowerCase()) ?? 0n);
      if (method !== 'eth_call') return truth;
      const { data } = first as { data: string };
      const isOfPaymaster = data.endsWith(paymaster.slice(2).toLowerCase());
      return `0x${(isOfPaymaster ? DEPOSIT : 0n).toString(16).padStart(64, '0')}`;
    };
  });
  afterEach(() => Promise.all([account.service.close(), node.stop()]));

  const read = async () => {
    const { status, chains } = (await (await account.ask('/universal-account')).json()) as AccountStatus;
    return { status, chain: chains[0] };
  };
  const later = () => {
    account.clock.time += KEPT_MS;
  };
  const reserve = (maxCostWei: bigint, position: number) => {
    const data = { chainId: 7, nonce: String(position), maxCostWei: String(maxCostWei) };
    const reserved = storedEvent('SponsorshipReserved', data, { position });
    return projectInto(account.foundation.readStore, [reservationsModel], [reserved]);
  };

  it('is well with a paymaster, its deposit and an executor that has gas', async () => {
    await start();
    expect(await read()).toMatchObject({
      status: 'ok',
      chain: { bundler: 'built-in', paymaster, paymasterDeposit: '1000', operationsPending: 0 },
    });
  });

  it('is degraded while its node does not answer', async () => {
    await start();
    await node.stop();
    expect(await read()).toMatchObject({ status: 'degraded', chain: { paymaster, paymasterDeposit: null } });
    node = await JsonRpcNode.start(new MemoryChain(7));
  });

  it('is degraded when no executor can pay for a bundle', async () => {
    await start();
    const [first = '', ...others] = executors.map((executor) => executor.toLowerCase());
    for (const other of others) balances.set(other, 0n);
    expect((await read()).status).toBe('ok');
    balances.set(first, BUNDLE_WEI - 1n);
    later();
    expect((await read()).status).toBe('degraded');
  });

  it('is degraded when more is reserved than the deposit holds', async () => {
    await start();
    await reserve(DEPOSIT - 1n, 1);
    expect((await read()).status).toBe('ok');
    await reserve(1n, 2);
    expect((await read()).status).toBe('ok');
    await reserve(1n, 3);
    expect((await read()).status).toBe('degraded');
  });

  it('counts the operations that were accepted and are in no block', async () => {
    await start();
    const events = ['tx_1', 'tx_2', 'tx_3', 'tx_4'].map((transactionId, at) =>
      storedEvent(
        'TxSubmitted',
        { transactionId, chainId: at === 0 ? 8 : 7 },
        { position: at + 1, time: account.clock.now() },
      ),
    );
    const included = storedEvent('TxIncluded', { transactionId: 'tx_2', chainId: 7 }, { position: 5 });
    await projectInto(account.foundation.readStore, [transactionsModel], [...events, included]);
    expect(await read()).toMatchObject({ status: 'ok', chain: { operationsPending: 2 } });
  });

  describe('while operations wait for longer than 30 s', () => {
    const [executor = ''] = executors;
    const submitted = async (at: number, ...more: Parameters<typeof storedEvent>[]) => {
      const { readStore, clock } = { ...account, ...account.foundation };
      const data = { transactionId: `tx_${String(at)}`, chainId: 7 };
      const one = storedEvent('TxSubmitted', data, { position: at, time: clock.now() });
      await projectInto(readStore, [transactionsModel], [one, ...more.map((args) => storedEvent(...args))]);
    };
    const recorded = async (type: 'BundleSigned' | 'BundleMined' | 'BundleWithdrawn') => {
      const { eventStore } = account.foundation;
      const stream = executorStream(7, executor);
      const data = { ...eventExamples[type], chainId: 7, executor };
      const revision = (await eventStore.read(stream)).length - 1;
      await eventStore.append(stream, revision, [anEvent({ type, data, time: account.clock.now() })]);
    };
    const pass = (ms: number) => {
      account.clock.time += ms;
    };

    it('is degraded, unless a bundle got into a block meanwhile', async () => {
      await start();
      await submitted(1);
      pass(29_999);
      expect((await read()).status).toBe('ok');
      pass(KEPT_MS);
      expect((await read()).status).toBe('degraded');
      for (const type of ['BundleSigned', 'BundleMined'] as const) await recorded(type);
      pass(KEPT_MS);
      expect((await read()).status).toBe('ok');
      pass(30_000);
      expect((await read()).status).toBe('degraded');
    });

    it('is well where each was told why it waits', async () => {
      await start();
      const delayed = { transactionId: 'tx_1', chainId: 7, reason: 'AA21 no balance' };
      await submitted(1, ['TxDelayed', delayed, { position: 2 }]);
      pass(60_000);
      expect((await read()).status).toBe('ok');
    });

    it('is degraded for as long after its node refused a bundle', async () => {
      await start();
      for (const type of ['BundleSigned', 'BundleWithdrawn'] as const) await recorded(type);
      expect((await read()).status).toBe('degraded');
      pass(30_001);
      expect((await read()).status).toBe('ok');
    });
  });

  it('names the host of whoever else bundles, who needs none of our executors', async () => {
    for (const executor of executors) balances.set(executor.toLowerCase(), 0n);
    await start({ bundlerUrls: ['https://key@bundler.example:8443/secret', 'https://other.example'] });
    expect(await read()).toMatchObject({ status: 'ok', chain: { bundler: 'bundler.example:8443' } });
  });

  it('is asked of the chain at most once in 5 s, however many ask', async () => {
    await start();
    const asked = () => node.asked.filter((method) => method === 'eth_getCode').length;
    const before = asked();
    const answers = await Promise.all(Array.from({ length: 20 }, read));
    expect(answers.every(({ status }) => status === 'ok')).toBe(true);
    const once = asked() - before;
    expect(once).toBe(1 + executors.length);
    account.clock.time += KEPT_MS - 1;
    await read();
    expect(asked() - before).toBe(once);
    account.clock.time += 1;
    await read();
    expect(asked() - before).toBe(2 * once);
  });

  it('is asked no more often of a chain that fails', async () => {
    await start();
    node.lie = (method) => {
      throw new Error(`${method} fails`);
    };
    await read();
    const { length } = node.asked;
    expect((await read()).status).toBe('degraded');
    expect(node.asked).toHaveLength(length);
  });
});
