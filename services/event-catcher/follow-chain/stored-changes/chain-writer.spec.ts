import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import {
  advance,
  initialProgress,
  cover,
  rewind,
  addWatch,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import type { Header } from '../../domain/window/window.ts';
import { ChainAppends } from './chain-appends.ts';
import { ChainRecords } from './chain-records.ts';
import { ChainWriter, type Change, type SyncSteps } from './chain-writer.ts';
import { ProgressStream } from './progress-stream.ts';

const hash = (number: number) => `0x${(number + 1).toString(16).padStart(64, '0')}`;
const header = (number: number): Header => ({
  number,
  hash: hash(number),
  parentHash: hash(number - 1),
  timestamp: 1_000 + number,
});
const record = (BlockNumber: number, LogIndex = 0) => ({
  ...eventExamples.ChainEventObserved,
  Id: `2484:${String(BlockNumber)}:${String(LogIndex)}`,
  BlockNumber,
  BlockHash: hash(BlockNumber),
  LogIndex,
});
const contract = eventExamples.ChainEventObserved.ContractAddress.toLowerCase();
const following = (number: number): Change => ({
  observed: [record(number)],
  isRead: ({ BlockNumber }) => BlockNumber === number,
  transition: advance(header(number), { number: number - 5 }),
});

/** A writer on a store. It begins at block 0, or continues from the stored progress. */
const aWriter = async (eventStore = new MemoryEventStore()) => {
  let nowMs = 1_000_000;
  let elapsedMs = 0;
  const clock = { now: () => nowMs, elapsed: () => elapsedMs };
  const appends = new ChainAppends({ eventStore, clock, ids: systemIds }, new AbortController().signal, false);
  const stream = await ProgressStream.load({ eventStore, appends }, 2484);
  const records = new ChainRecords({ eventStore, appends }, 2484);
  await records.load([contract], stream.stored?.position ?? 0, new AbortController().signal);
  const writer = new ChainWriter(stream.stored ?? initialProgress([header(0)], 0), records, stream, clock);
  const stored = async () => (await eventStore.read('chain-2484'))[0]?.data;
  return {
    writer,
    eventStore,
    commit: (...changes: Change[]) =>
      writer.commit(function* (): SyncSteps {
        for (const change of changes) yield change;
      }),
    move: (...transitions: Transition[]) =>
      writer.commit(function* (): SyncSteps {
        for (const transition of transitions) yield { transition };
      }),
    pass: (ms: number) => {
      nowMs += ms;
      elapsedMs += ms;
    },
    setClock: (ms: number) => {
      nowMs += ms;
    },
    types: async () => (await eventStore.readAll(0, undefined, 1_000)).events.map(({ type }) => type),
    stored,
    /** The next block of each stored range. */
    next: async () => ((await stored())?.['backfills'] as { next: number }[]).map((range) => range.next),
  };
};

describe('a change', () => {
  it('is stored with its records first, then the progress that contains them', async () => {
    const { writer, commit, types, stored } = await aWriter();
    await commit(following(1), following(2));
    expect(await types()).toEqual(['ChainEventObserved', 'ChainEventObserved', 'ChainAdvanced']);
    expect(await stored()).toEqual({
      chainId: 2484,
      head: 2,
      finalized: 0,
      window: [0, 1, 2].map((number) => ({ ...header(number), since: 0 })),
      backfills: [],
      watchesUpTo: 0,
    });
    expect(writer.progress.position).toBe(3);
  });

  it('stores nothing if its transition is refused', async () => {
    const { writer, commit, types } = await aWriter();
    const before = writer.progress;
    await expect(commit({ ...following(1), transition: advance(header(7), { number: 2 }) })).rejects.toThrow(
      'does not follow',
    );
    expect(writer.progress).toBe(before);
    expect(await types()).toEqual([]);
  });

  it('is based on the progress that earlier commits made', async () => {
    const { writer } = await aWriter();
    const seen: ChainProgress[] = [];
    const step = (number: number) =>
      writer.commit(async function* (progress) {
        await Promise.resolve();
        seen.push(progress);
        const next = yield { transition: advance(header(number), { number: number - 5 }) };
        seen.push(next);
        return number;
      });
    expect(await Promise.all([step(1), step(2)])).toEqual([1, 2]);
    expect(seen.map(({ window }) => window.length)).toEqual([1, 2, 2, 3]);
  });

  it('is not stored after a commit that failed', async () => {
    const { writer, commit, types } = await aWriter();
    const failing = writer.commit(function* (): SyncSteps {
      yield following(1);
      throw new Error('the provider is down');
    });
    await expect(failing).rejects.toThrow('down');
    await expect(commit(following(2))).rejects.toThrow('down');
    expect(await types()).toEqual(['ChainEventObserved']);
  });

  it('reverts what was observed in blocks that left the chain, newest first', async () => {
    const { writer, commit, eventStore } = await aWriter();
    await commit(following(1));
    await commit({ ...following(2), observed: [record(2, 0), record(2, 1)] }, following(3));
    const removed = writer.progress.window.slice(2);
    await commit({ removed, transition: rewind(hash(1)) });
    const events = await eventStore.read(`chain-2484-${contract}`);
    expect(events.slice(4).map(({ type, data }) => [type, data['Id']])).toEqual([
      ['ChainEventReverted', record(3).Id],
      ['ChainEventReverted', record(2, 1).Id],
      ['ChainEventReverted', record(2, 0).Id],
    ]);
  });
});

describe('the progress of a writer', () => {
  it('is stored if it changed, and not again', async () => {
    const { commit, move, types } = await aWriter();
    await commit();
    expect(await types()).toEqual(['ChainAdvanced']);
    await commit();
    await move();
    expect(await types()).toEqual(['ChainAdvanced']);
  });

  it('is stored once a second if only ranges were read, else at once', async () => {
    const { move, pass, next } = await aWriter();
    await move(
      addWatch({ id: 'w', startBlock: 0 }, 7),
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => advance(header(n), { number: n - 2 })),
    );
    await move(cover('w', { from: 0, to: 1 }));
    pass(999);
    await move(cover('w', { from: 2, to: 2 }));
    expect(await next()).toEqual([0]);
    pass(1);
    await move(cover('w', { from: 3, to: 3 }));
    expect(await next()).toEqual([4]);
    await move(cover('w', { from: 4, to: 4 }));
    expect(await next()).toEqual([4]);
    await move(advance(header(10), { number: 8 }));
    expect(await next()).toEqual([5]);
  });

  it('is stored once a second however the clock is set', async () => {
    const { move, pass, setClock, next } = await aWriter();
    await move(addWatch({ id: 'w', startBlock: 0 }, 7), advance(header(1), { number: 0 }));
    await move(...[2, 3, 4, 5].map((number) => advance(header(number), { number })));
    setClock(3_600_000);
    await move(cover('w', { from: 0, to: 0 }));
    expect(await next()).toEqual([0]);
    setClock(-7_200_000);
    pass(1_000);
    await move(cover('w', { from: 1, to: 1 }));
    expect(await next()).toEqual([2]);
  });

  it('lists watches with the same blocks together, and is stored less often when it lists many', async () => {
    const { move, pass, stored, next } = await aWriter();
    const ids = Array.from({ length: 2_000 }, (_, at) => `w${String(at)}`);
    const blocks = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => advance(header(n), { number: n - 2 }));
    await move(...ids.map((id, at) => addWatch({ id, startBlock: 0 }, 7 + at)), ...blocks);
    expect((await stored())?.['backfills']).toMatchObject([{ watchIds: ids, next: 0, joins: true }]);
    await move(cover('w0', { from: 0, to: 1 }));
    pass(1_999);
    await move(cover('w0', { from: 2, to: 2 }));
    expect(await next()).toEqual([0]);
    pass(1);
    await move(cover('w0', { from: 3, to: 3 }));
    expect(await next()).toEqual([4, 0]);
  });

  it('is not stored while records after the stored progress are unconfirmed', async () => {
    const first = await aWriter();
    await first.commit(following(1));
    await first.writer
      .commit(function* (): SyncSteps {
        yield following(2);
        throw new Error('the process is dead');
      })
      .catch(() => undefined);
    expect(await first.types()).toEqual(['ChainEventObserved', 'ChainAdvanced', 'ChainEventObserved']);
    const { commit, types, stored } = await aWriter(first.eventStore);
    await commit({ transition: advance(header(2), { number: -3 }) });
    await commit({ isRead: ({ BlockNumber }) => BlockNumber === 1 });
    expect(await stored()).toMatchObject({ head: 1 });
    await commit({ observed: [record(2)] });
    expect(await stored()).toMatchObject({ head: 2 });
    expect(await types()).toEqual(['ChainEventObserved', 'ChainEventObserved', 'ChainAdvanced']);
  });
});
