import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { TransactionEvent } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { BundlerWasReplaced } from '../domain/executor.ts';
import { FEE_CAP, WaitingOperations } from '../../testing/bundler-simulation/waiting-operations.ts';
import type { SimulatedChain } from '../../testing/simulated-chain/simulated-chain.ts';
import { CONTRACTS } from '../../testing/simulated-chain/simulated-contracts.ts';

const GWEI = 10n ** 9n;
const { chainId } = CONTRACTS;

describe('bundles of many operations that wait', () => {
  it('go to all executors, and the last executor sends more than the others', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(280);
    expect(await waiting.bundles()).toEqual([50, 50, 150]);
  });

  it('go to no more executors than needed', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(60);
    expect(await waiting.bundles()).toEqual([50, 10]);
  });

  it('stay below the gas limit of a transaction', async () => {
    const waiting = new WaitingOperations({ gasOf: () => ({ verification: 200_000n, execution: 90_000n }) });
    await waiting.send(280);
    expect(await waiting.bundles()).toEqual([50, 50, 38]);
  });
});

describe('a bundle that a node refuses', () => {
  it('frees its nonce, and is halved until the refused operation is alone, which then waits', async () => {
    const waiting = new WaitingOperations({ fork: 'prague' });
    await waiting.send(8);
    const [at = ''] = waiting.ids.slice(5, 6);
    const { mempool } = await waiting.bundlesAlone();
    waiting.chain.refusedData = mempool.get(at)?.operation.callData.slice(2);
    await waiting.begin();
    await waiting.blocks(4, GWEI);
    for (const id of waiting.ids) {
      const events = await waiting.eventsOf(id);
      if (id === at) expect(events.slice(0, 2)).toEqual(['TxSubmitted', 'TxDelayed']);
      else expect(events[1]).toMatch(/^Tx(Included|Reverted)$/);
    }
    expect((await waiting.storedOf('BundleMined')).map(({ data }) => data['nonce'])).toContain(0);
    expect(waiting.logged.join('\n')).toMatch(/refuses a bundle of 0x\w+: never taken/);
  });
});

describe('a bundler that another process has replaced', () => {
  it('signs no more bundles, but still records mined ones', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    const replaced = await waiting.begin();
    await replaced.step();
    await waiting.send(1);
    const { events } = await waiting.store.readAll(0, { types: ['TxSubmitted'] }, Infinity);
    for (const { data } of events)
      await replaced.addSubmitted({ type: 'TxSubmitted', data } as unknown as TransactionEvent);
    await waiting.begin();
    waiting.chain.mine();
    await expect(replaced.step()).rejects.toThrow(BundlerWasReplaced);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
    expect(await waiting.storedOf('BundleSigned')).toHaveLength(1);
  });
});

describe('an operation whose log a node omits', () => {
  const mine = (chain: SimulatedChain, blocks: number): void => {
    for (let block = 0; block < blocks; block += 1) chain.mine();
  };

  it('is final with its block, once its inclusion was found', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(3);
    await waiting.begin({ habits: { logsMissing: 1 } });
    await waiting.blocks(14, GWEI);
    for (const id of waiting.ids) expect((await waiting.eventsOf(id)).at(-1)).toBe('TxFinalized');
  });

  it('stays in its block if that is final when the next process begins', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    await waiting.bundles();
    await waiting.blocks(1, GWEI);
    mine(waiting.chain, 10);
    await waiting.begin({ habits: { logsMissing: 1 } });
    const [id = ''] = waiting.ids;
    expect(await waiting.eventsOf(id)).toEqual([
      'TxSubmitted',
      expect.stringMatching(/^Tx(Included|Reverted)$/),
      'TxFinalized',
    ]);
  });

  it('is found once its replacement is refused, no matter how long ago it was signed', async () => {
    const waiting = new WaitingOperations({ strangers: { bundle: 1 } });
    const { chain } = waiting;
    await waiting.send(1);
    const { mempool } = await waiting.bundlesAlone();
    const [entry] = [...mempool.all()];
    if (!entry) throw new Error('the operation is not in the mempool');
    chain.strangers.see(entry.operation);
    while (chain.inclusions().length === 0) chain.mine();
    mine(chain, 10);
    await waiting.senders.resign(entry, { deploys: false });
    const bundler = await waiting.begin({ finalBlock: chain.head.number - 8 });
    await bundler.step();
    const [id = '', anew = ''] = waiting.ids;
    expect(await waiting.eventsOf(id)).toEqual([
      'TxSubmitted',
      expect.stringMatching(/^Tx(Included|Reverted)$/),
      'TxFinalized',
    ]);
    expect(await waiting.eventsOf(anew)).toEqual(['TxSubmitted', 'TxReplaced', 'TxFinalized']);
  });
});

describe('an operation in two pending bundles after a reorganisation', () => {
  it('enters no other bundle before the nonces of both are used', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    const { mempool, bundles, executor, streams } = await waiting.bundlesAlone();
    const [id = ''] = [...mempool.all()].map((entry) => entry.id);
    const signed = { ...eventExamples.BundleSigned, chainId, executor: executor.address, operations: [id] };
    for (const nonce of [0, 1])
      await executor.record(streams, () => [{ type: 'BundleSigned', data: { ...signed, nonce } }]);
    bundles.assign(executor);
    const [first, second] = executor.state.bundles;
    if (!first || !second) throw new Error('two bundles must be stored');
    const by = { executor, success: true, transactionHash: '0x' };
    expect(bundles.hasWaiting).toBe(false);
    await bundles.onMined(second, by);
    expect(bundles.hasWaiting).toBe(false);
    const finalized = { ...eventExamples.BundleFinalized, chainId, executor: executor.address, nonce: second.nonce };
    await executor.record(streams, () => [{ type: 'BundleFinalized', data: finalized }]);
    await bundles.onMined(first, by);
    expect(bundles.hasWaiting).toBe(true);
  });
});

describe('a bundle that blocks leave out', () => {
  const feeOf = ({ data }: StoredEvent) => BigInt(data['maxFeePerGas'] as string);

  it('pays an eighth more after each three blocks, until a block includes it', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    expect(await waiting.bundles()).toEqual([1]);
    const [first] = await waiting.storedOf('BundleSigned');
    const fee = first ? feeOf(first) : 0n;
    await waiting.blocks(2, 2n * fee);
    expect(await waiting.storedOf('BundleReplaced')).toEqual([]);
    await waiting.blocks(4, 2n * fee);
    const raised = (fee * 9n) / 8n + 1n;
    expect((await waiting.storedOf('BundleReplaced')).map(feeOf)).toEqual([raised, (raised * 9n) / 8n + 1n]);
    await waiting.blocks(1, fee);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
    expect(waiting.logged).toEqual([]);
  });

  it('never pays more than the feeCap, and the log says so', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(1);
    await waiting.bundles();
    await waiting.blocks(120, 2n * FEE_CAP);
    const fees = (await waiting.storedOf('BundleReplaced')).map(feeOf);
    expect(fees.at(-1)).toBeLessThanOrEqual(FEE_CAP);
    expect(fees.at(-1)).toBeGreaterThan((FEE_CAP * 8n) / 9n);
    expect(waiting.logged.join('\n')).toMatch(/"level":50.*is left out of blocks at the feeCap of the chain/);
    await waiting.blocks(1, GWEI);
    expect(await waiting.storedOf('BundleMined')).toHaveLength(1);
  });
});

describe('a bundle whose nonce somebody else has used', () => {
  const useNonces = async (waiting: WaitingOperations, count: number) => {
    const [signed] = await waiting.storedOf('BundleSigned');
    waiting.chain.pool.forgetAll();
    for (let sent = 0; sent < count; sent += 1)
      waiting.chain.inNextBlock(waiting.chain.strangers.useNonce(signed?.data['executor'] as string));
  };

  it('is given up once that is final: its operations are bundled again, and the log says why', async () => {
    const waiting = new WaitingOperations();
    await waiting.send(3);
    await waiting.bundles();
    await useNonces(waiting, 2);
    await waiting.blocks(8, GWEI);
    expect(await waiting.storedOf('BundleLost')).toEqual([]);
    await waiting.blocks(20, GWEI);
    expect((await waiting.storedOf('BundleLost')).map(({ data }) => data)).toMatchObject([{ nonce: 0, nextNonce: 2 }]);
    expect((await waiting.storedOf('BundleMined')).map(({ data }) => data['nonce'])).toEqual([2]);
    for (const id of waiting.ids) expect(await waiting.eventsOf(id)).toContain('TxFinalized');
    expect(waiting.logged.join('\n')).toMatch(/somebody else sent a transaction with the key of the executor 0x/);
  });
});
