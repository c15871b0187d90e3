import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { placeOf } from '../../../shared/chain/identifiers/record-terms.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import {
  chainEventDocumentId,
  chainEventsModel,
  type ChainEventDocument,
} from '../../../shared/read-models/event-catcher/chain-events.ts';
import { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import type { Hit } from '../../../shared/read-store/read-store.ts';
import { SqliteReadStore } from '../../../shared/read-store/embedded/read-store.sqlite.ts';
import { storedEvent } from '../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { transferRecord } from '../testing/routes/catcher-fixtures.ts';
import type { SelectedWatch, Selection } from './event-selection.ts';
import { KeptCounts, KeptSegments, RecordSearch } from './record-search.ts';
import { casesOf } from '../../../shared/testing/cases.ts';

const { record, count } = chainEventsModel.collections;
const LAST_BLOCK = 5_000;
const WATCHES = ['wch_one', 'wch_one', 'wch_2', 'wch_3', 'wch_4', 'wch_5'];
const HOLDERS = 50;
const budget = new QueryBudget({ caller: 'someone' });

/** The records of a block, of some watches. A block that replaces another has another fork. */
const recordsOf = (block: number, fork = 0): ObservedRecord[] =>
  WATCHES.map((WatchId, LogIndex) =>
    transferRecord({
      BlockNumber: block,
      LogIndex,
      BlockHash: `0x${fork.toString(16).padStart(8, '0')}${block.toString(16).padStart(56, '0')}`,
      WatchId,
      TxHash: `0x${(block % 3_000).toString(16).padStart(64, '0')}`,
      Data: { to: `0x${String((block * 7 + LogIndex + fork) % HOLDERS)}`, isLarge: block % 2 === 0 },
    }),
  );
const blocks = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('records on SQLite', () => {
  const readStore = new SqliteReadStore(join(temporaryFolder(), 'read.db'));
  // For all queries: what they keep must not outlast a change.
  const kept = new KeptCounts();
  const keptSegments = new KeptSegments();
  const records = new Map<string, ChainEventDocument>();
  const counts = new Map<string, JsonObject>();
  let position = 0;
  const current = new Map<number, ObservedRecord[]>();

  /** Folds events as a projection does, and stores what they change. */
  const store = async (type: 'ChainEventObserved' | 'ChainEventReverted', some: readonly ObservedRecord[]) => {
    const changed = new Map<string, { collection: string; id: string; position: number; document: JsonObject }>();
    for (const data of some) {
      position += 1;
      const event = storedEvent(type, data, { position });
      const [id, countId] = [chainEventDocumentId(data), data.WatchId];
      const after = chainEventsModel.evolve({ record: records.get(id), count: counts.get(countId) }, event);
      const [document, counted] = [after['record'] as ChainEventDocument | undefined, after['count']];
      if (!document || !counted) throw new Error(`${type} of ${id} changes nothing`);
      records.set(id, document);
      counts.set(countId, counted);
      changed.set(id, { collection: record.name, id, position, document });
      changed.set(countId, { collection: count.name, id: countId, position, document: counted });
    }
    await readStore.apply(chainEventsModel.name, [...changed.values()], position);
  };
  const observe = (from: number, to: number, fork = 0) => {
    for (const block of blocks(from, to)) current.set(block, recordsOf(block, fork));
    return store(
      'ChainEventObserved',
      blocks(from, to).flatMap((block) => current.get(block) ?? []),
    );
  };
  const revert = (from: number, to: number) =>
    store(
      'ChainEventReverted',
      blocks(from, to)
        .toReversed()
        .flatMap((block) => current.get(block)?.toReversed() ?? []),
    );

  beforeAll(async () => {
    await readStore.define(collections);
    // The head is read while a backfill goes on: segments have blocks in common.
    for (const from of [3_001, 1, 4_001, 1_001, 2_001]) await observe(from, from + 999);
  });
  afterAll(() => readStore.close());

  const watch = fc.record({
    to: fc.option(fc.integer({ min: 0, max: HOLDERS }), { nil: undefined }),
    isLarge: fc.option(fc.boolean(), { nil: undefined }),
    transaction: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined, freq: 2 }),
  });
  const query = fc.record({
    watch,
    watchIds: fc.subarray([...new Set(WATCHES)], { minLength: 1 }),
    fromBlock: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: LAST_BLOCK + 10 })),
    toBlock: fc.oneof(fc.constant(Infinity), fc.integer({ min: 0, max: LAST_BLOCK + 10 })),
    reverted: fc.boolean(),
    direction: fc.constantFrom('asc' as const, 'desc' as const),
    limit: fc.integer({ min: 1, max: 700 }),
  });
  const always = {
    ...{ watchIds: [...new Set(WATCHES)], fromBlock: 0, toBlock: Infinity, reverted: false },
    ...{ direction: 'desc' as const, limit: 20_000 },
  };
  const watches = [
    { to: 7, isLarge: undefined, transaction: undefined },
    { to: undefined, isLarge: true, transaction: undefined },
  ];
  type Asked = typeof query extends fc.Arbitrary<infer Value> ? Value : never;

  const selectionOf = ({ watch: { to, isLarge, transaction }, watchIds, ...range }: Asked): Selection => {
    const searched: SelectedWatch['searched'] = [
      ...(to === undefined ? [] : [{ argument: 'to', value: `0x${String(to)}` }]),
      ...(isLarge === undefined ? [] : [{ argument: 'isLarge', value: isLarge }]),
      ...(transaction === undefined ? [] : [{ txHash: `0x${transaction.toString(16).padStart(64, '0')}` }]),
    ];
    return { ...range, isOnePerLog: false, watches: watchIds.map((id) => ({ id, searched })) };
  };

  const expected = ({ watch: { to, isLarge, transaction }, ...asked }: Asked): ChainEventDocument[] =>
    [...records.values()].filter(
      ({ WatchId, BlockNumber, TxHash, Data, reverted }) =>
        asked.watchIds.includes(WatchId) &&
        reverted === asked.reverted &&
        BlockNumber >= asked.fromBlock &&
        BlockNumber <= asked.toBlock &&
        (to === undefined || Data['to'] === `0x${String(to)}`) &&
        (isLarge === undefined || Data['isLarge'] === isLarge) &&
        (transaction === undefined || BigInt(TxHash) === BigInt(transaction)),
    );

  const check = async (asked: Asked): Promise<void> => {
    const search = await RecordSearch.begin(readStore, selectionOf(asked), { budget, kept: keptSegments });
    const wanted = expected(asked);
    expect(await search.total(kept)).toBe(wanted.length);
    const found: Hit[] = [];
    for (let after: Hit | undefined; ;) {
      const page = await search.hits({ ...asked, after });
      found.push(...page);
      after = page.at(-1);
      if (page.length < asked.limit) break;
    }
    const places = wanted.map(placeOf).sort((one, other) => (asked.direction === 'asc' ? one - other : other - one));
    expect(found.map(({ order }) => order)).toEqual(places);
    const documents = await search.documents(found.slice(0, 50));
    expect(documents.every(({ document }) => wanted.some(({ Id }) => Id === document['Id']))).toBe(true);
    expect(new Set(found.map(({ reference }) => reference)).size).toBe(found.length);
  };

  it('have several segments, of which some have the same blocks', () => {
    const segments = counts.get('wch_one')?.['segments'] as number[][];
    expect(segments.map(([first, last]) => [first, last])).toEqual([
      [1, 5_000],
      [2_097, 3_000],
    ]);
  });

  it('are found and counted as looking through all of them does', async () => {
    await fc.assert(fc.asyncProperty(query, check), { numRuns: casesOf(60) });
  });

  it('are so after each step of reorganisations, also while blocks come and go and come back', async () => {
    const checkAll = async () => {
      for (const fromBlock of [0, 10])
        for (const reverted of [false, true])
          for (const watch of watches) await check({ ...always, fromBlock, reverted, watch });
      await fc.assert(fc.asyncProperty(query, check), { numRuns: 4 });
    };
    for (const depth of [1, 40]) {
      const first = LAST_BLOCK - depth + 1;
      const before = blocks(first, LAST_BLOCK).map((block) => [block, current.get(block) ?? []] as const);
      await revert(first, LAST_BLOCK);
      await checkAll();
      await observe(first, LAST_BLOCK, depth);
      await checkAll();
      await revert(first, LAST_BLOCK);
      for (const [block, some] of before) current.set(block, some);
      await store(
        'ChainEventObserved',
        before.flatMap(([, some]) => some),
      );
      await checkAll();
    }
  });
});
