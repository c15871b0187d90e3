import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { NewHeads } from '../../../../shared/chain/client/new-heads.websocket.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { ChainUnavailable, type BlockHeader } from '../../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { initialProgress, type ChainProgress } from '../../domain/chain-progress.ts';
import { linkedWindow, tipOf } from '../../../../shared/chain/window.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { followSettings } from '../../testing/follower/following.ts';
import { mineSome, transfer } from '../../testing/follower/follower-under-test.ts';
import { advanceToHead } from './advance-to-head.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { ProgressMeter } from '../chains/progress-meter.ts';
import { DeeperThanFinality, FinalBlocksLost } from '../window/reconcile.ts';
import type { Change } from '../stored-changes/chain-writer.ts';
import { Finality } from '../window/finality.ts';
import { Watches } from '../watches/watches.ts';

const CONFIRMATIONS = 3;

/** A chain of 11 blocks, read to its head, with one watch that is live from block 2. */
const followed = async (changes: Partial<FollowedChain> = {}) => {
  const reader = new MemoryChain(2484);
  for (let block = 1; block <= 10; block += 1) reader.mine([transfer(block)]);
  const eventStore = new MemoryEventStore();
  const data = { ...transferWatch, startBlock: 2 };
  await eventStore.append('watch-1', -1, [anEvent({ type: 'ContractRegistered', data })]);
  const watches = new Watches(eventStore, 2484);
  await watches.load(new AbortController().signal);
  const chain: FollowedChain = {
    ...followSettings({ confirmations: CONFIRMATIONS }),
    reader,
    newHeads: new NewHeads(),
    finality: new Finality(reader, { finality: 'finalized', confirmations: CONFIRMATIONS, isDevelopment: true }, 0, {
      elapsed: () => 0,
    }),
    watches,
    records: { unconfirmed: [] },
    meter: new ProgressMeter(systemClock),
    logger: pino({ level: 'silent' }),
    ...changes,
  };
  const window = linkedWindow(reader.headers.slice(-1 - CONFIRMATIONS));
  if (!window) throw new Error('a chain has blocks');
  return { reader, chain, progress: { ...initialProgress(window, 7), watchesUpTo: 7 } };
};

/** Advances to a head as if each change were stored. Returns the changes and the progress after them. */
const advanced = async (progress: ChainProgress, head: BlockHeader, chain: FollowedChain) => {
  const changes: Change[] = [];
  const steps = advanceToHead(progress, head, chain);
  let now = progress;
  for (let step = await steps.next(); !step.done; step = await steps.next(now)) {
    changes.push(step.value);
    now = step.value.transition?.(now) ?? now;
  }
  return { changes, now };
};
const blocksOf = ({ observed = [] }: Change) => observed.map(({ BlockNumber }) => BlockNumber);
const numbersOf = ({ removed }: Change) => Array.isArray(removed) && removed.map(({ number }: BlockHeader) => number);

describe('advancing to a head', () => {
  it('changes nothing for a known head', async () => {
    const { chain, progress, reader } = await followed();
    expect((await advanced(progress, reader.tip, chain)).changes).toEqual([]);
    const [older] = await reader.headersByNumber([8]);
    expect((await advanced(progress, older ?? reader.tip, chain)).changes).toEqual([]);
  });

  it('reads block by block, each with the records of the live watches', async () => {
    const { chain, progress, reader } = await followed();
    for (let block = 11; block <= 70; block += 1) reader.mine(block % 2 === 0 ? [transfer(block)] : []);
    const { changes, now } = await advanced(progress, reader.tip, chain);
    expect(changes).toHaveLength(60);
    expect(changes.flatMap(blocksOf)).toEqual(Array.from({ length: 30 }, (_, at) => 12 + 2 * at));
    expect(tipOf(now.window).hash).toBe(reader.tip.hash);
    expect(tipOf(now.window).since).toBe(7);
    expect(now.backfills).toEqual([]);
  });

  it('removes the blocks after the fork if the head is on another branch', async () => {
    const { chain, progress, reader } = await followed();
    reader.rollBack(2);
    mineSome(reader, 3, 100);
    const { changes, now } = await advanced(progress, reader.tip, chain);
    expect(changes.map(numbersOf)).toEqual([[10, 9], false, false, false]);
    expect(now.window.map(({ hash }) => hash)).toEqual(reader.headers.slice(-4).map(({ hash }) => hash));
  });

  it('tells of each block which records are orphans at its height, and which were read with it', async () => {
    const { chain, progress, reader } = await followed();
    const { hash } = reader.mine([transfer(11)]);
    const { changes } = await advanced(progress, reader.tip, chain);
    const record = changes[0]?.observed?.[0];
    if (!record) throw new Error('the block has a transfer');
    const said = (of: 'isOrphan' | 'isRead', different: Partial<typeof record> = {}) =>
      changes[0]?.[of]?.({ ...record, ...different });
    expect(record.BlockHash).toBe(hash);
    expect([said('isOrphan'), said('isRead')]).toEqual([false, true]);
    expect([said('isOrphan', { BlockHash: '0x' }), said('isRead', { BlockHash: '0x' })]).toEqual([true, false]);
    expect(said('isOrphan', { BlockHash: '0x', BlockNumber: 12 })).toBe(false);
    expect(said('isRead', { WatchId: 'wch_other' })).toBe(false);
  });

  it('refuses a head that contradicts a final block', async () => {
    const { chain, progress, reader } = await followed();
    reader.rollBack(5);
    mineSome(reader, 6, 100);
    await expect(advanced(progress, reader.tip, chain)).rejects.toBeInstanceOf(DeeperThanFinality);
    const development = { ...chain, isDevelopment: true };
    await expect(advanced(progress, reader.tip, development)).rejects.toBeInstanceOf(FinalBlocksLost);
  });

  it('is tried again if the provider does not have the blocks before the head', async () => {
    const { chain, progress, reader } = await followed();
    const next = reader.mine([]);
    const missing = { ...next, number: 13, hash: '0xd', parentHash: '0xc' };
    await expect(advanced(progress, missing, chain)).rejects.toBeInstanceOf(ChainUnavailable);
    const orphan = { ...next, hash: '0xd', parentHash: '0xc' };
    await expect(advanced(progress, orphan, chain)).rejects.toBeInstanceOf(ChainUnavailable);
    const wrong = { ...next, number: 12 };
    await expect(advanced(progress, wrong, chain)).rejects.toBeInstanceOf(ChainUnavailable);
  });
});

describe('advancing to a head that is far ahead', () => {
  it('skips to it, and leaves the blocks between to be read as ranges', async () => {
    const { chain, progress, reader } = await followed();
    for (let block = 0; block < 504; block += 1) reader.mine([]);
    const { changes, now } = await advanced(progress, reader.tip, chain);
    expect(changes).toHaveLength(1);
    expect(now.window.map(({ number }) => number)).toEqual([511, 512, 513, 514]);
    expect(now.backfills).toEqual([{ watchId: transferWatch.watchId, from: 11, next: 11, to: 511, joins: true }]);
  });

  it('skips from the newest block of the window that is still on the chain', async () => {
    const { chain, progress, reader } = await followed();
    reader.rollBack(2);
    for (let block = 0; block < 520; block += 1) reader.mine([]);
    const { changes, now } = await advanced(progress, reader.tip, chain);
    expect(changes.map(numbersOf)).toEqual([[9, 10]]);
    expect(now.backfills).toMatchObject([{ from: 9, next: 9 }]);
  });

  it('walks in steps of 500 blocks if there is no room for the ranges', async () => {
    const { chain, progress, reader } = await followed({ rangesMax: 0 });
    for (let block = 0; block < 504; block += 1) reader.mine([]);
    const { now } = await advanced(progress, reader.tip, chain);
    expect(tipOf(now.window).number).toBe(510);
    expect(tipOf((await advanced(now, reader.tip, chain)).now.window).number).toBe(514);
  });

  it('reverts unconfirmed records that left the chain before it skips', async () => {
    const { chain, progress, reader } = await followed();
    const orphan = { ...eventExamples.ChainEventObserved, BlockNumber: 12, BlockHash: '0xd' };
    for (let block = 0; block < 520; block += 1) reader.mine([]);
    const kept = { ...orphan, BlockHash: reader.headers[12]?.hash ?? '' };
    const final = { ...orphan, BlockNumber: 7 };
    const records = { unconfirmed: [orphan, kept, final] };
    const [reconciled, skipped, ...others] = (await advanced(progress, reader.tip, { ...chain, records })).changes;
    expect([orphan, kept, final].map((record) => reconciled?.isOrphan?.(record))).toEqual([true, false, false]);
    expect(skipped?.observed).toEqual([]);
    expect([skipped?.removed, others]).toEqual([[], []]);
    expect(
      (await advanced(progress, reader.tip, { ...chain, records: { unconfirmed: [final] } })).changes,
    ).toHaveLength(1);
  });

  it('does not skip if a final block has changed', async () => {
    const { chain, progress, reader } = await followed();
    reader.rollBack(5);
    for (let block = 0; block < 520; block += 1) reader.mine([]);
    await expect(advanced(progress, reader.tip, chain)).rejects.toBeInstanceOf(DeeperThanFinality);
  });
});

describe('advancing to the head of a development chain', () => {
  it('rewinds the window if the head is an older block', async () => {
    const { chain, progress, reader } = await followed({ isDevelopment: true });
    reader.rollBack(2);
    const { changes, now } = await advanced(progress, reader.tip, chain);
    expect(changes.map(numbersOf)).toEqual([[10, 9]]);
    expect(tipOf(now.window).hash).toBe(reader.tip.hash);
    expect((await advanced(now, reader.tip, chain)).changes).toEqual([]);
  });

  it('does not follow a head that is older than the final block', async () => {
    const { chain, progress, reader } = await followed({ isDevelopment: true });
    reader.rollBack(4);
    await expect(advanced(progress, reader.tip, chain)).rejects.toBeInstanceOf(FinalBlocksLost);
  });
});
