import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { placeOf, SEGMENT_RECORDS } from '../../../../shared/chain/identifiers/record-terms.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import {
  chainEventDocumentId,
  chainEventsModel,
  type ChainEventDocument,
} from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { Hit, ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { storedEvent } from '../../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { transferRecord } from '../../testing/routes/catcher-fixtures.ts';
import type { Selection } from '../event-selection.ts';
import { KeptCounts, KeptSegments } from '../record-search.ts';
import { recordsAsOf } from './earlier-record.ts';
import { EarlierRecordSearch } from './earlier-record-search.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

const { record, count } = chainEventsModel.collections;
const WATCH = 'wch_one';
const HOLDERS = 50;
const budget = new QueryBudget({ caller: 'someone' });

/** The record of a block. What a wrong provider told has another holder. */
const recordOf = (block: number, isWrong = false): ObservedRecord =>
  transferRecord({
    ...{ BlockNumber: block, WatchId: WATCH },
    Data: { to: `0x${String((block * 7 + (isWrong ? 1 : 0)) % HOLDERS)}` },
  });
const blocks = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('records as of earlier positions', () => {
  const readStore = new SqliteReadStore(join(temporaryFolder(), 'read.db'));
  const keptCounts = new KeptCounts();
  const kept = new KeptSegments();
  const documents = new Map<string, ChainEventDocument>();
  const log: { position: number; isReversal: boolean; record: ObservedRecord }[] = [];
  let counted: JsonObject | undefined;
  const events: StoredEvent[] = [];
  const eventStore = {
    readAll: (after: number, _filter: unknown, limit: number) =>
      Promise.resolve({ events: events.slice(after, after + limit), position: after + limit, caughtUp: false }),
  };

  /** Folds events as a projection does, and stores what they change. */
  const store = async (type: 'ChainEventObserved' | 'ChainEventReverted', records: readonly ObservedRecord[]) => {
    const changed = new Map<string, JsonObject>();
    for (const data of records) {
      log.push({ position: log.length + 1, isReversal: type === 'ChainEventReverted', record: data });
      const id = chainEventDocumentId(data);
      const event = storedEvent(type, data, { position: log.length });
      events.push(event);
      const after = chainEventsModel.evolve({ record: documents.get(id), count: counted }, event);
      const document = record.document.parse(after['record']);
      documents.set(id, document);
      counted = after['count'];
      changed.set(id, document);
    }
    const position = log.length;
    const changes = Array.from(changed, ([id, document]) => ({ collection: record.name, id, position, document }));
    const ofWatch = { collection: count.name, id: WATCH, position, document: counted ?? {} };
    await readStore.apply(chainEventsModel.name, [...changes, ofWatch], position);
  };
  const observe = (some: readonly number[], isWrong = false) =>
    store(
      'ChainEventObserved',
      some.map((block) => recordOf(block, isWrong)),
    );
  const revert = (some: readonly number[], isWrong = false) =>
    store(
      'ChainEventReverted',
      some.map((block) => recordOf(block, isWrong)),
    );

  beforeAll(async () => {
    await readStore.define(collections);
    // The head is read while a backfill goes on.
    await observe(blocks(20_001, 22_000));
    await observe(blocks(1, 7_000));
    await revert([20_010, 20_011, 21_999]);
    await observe([20_010]);
    await observe(blocks(7_001, 16_000), true);
    await revert([7_003, 7_010, 12_000, 15_999], true);
    await observe([7_003, 12_000]);
    await revert([3, 22_000]);
    await observe(blocks(16_001, 20_000));
  });
  afterAll(() => readStore.close());

  type Asked = Omit<Selection, 'watches' | 'isOnePerLog'> & { asOf: number; to?: number | undefined };
  const selectionOf = ({ to, ...range }: Asked) => ({
    ...{ ...range, isOnePerLog: false },
    watches: [{ id: WATCH, searched: to === undefined ? [] : [{ argument: 'to', value: `0x${String(to)}` }] }],
  });
  const begin = (asked: Asked, by: ReadStore = readStore) =>
    EarlierRecordSearch.begin(selectionOf(asked), { readStore: by, eventStore, budget, kept });

  /** The records of that time, by the log of events alone. */
  const expected = ({ asOf, fromBlock, toBlock, reverted, to }: Asked): ObservedRecord[] => {
    const then = new Map<string, { isReversal: boolean; record: ObservedRecord }>();
    for (const one of log.slice(0, asOf)) then.set(one.record.Id, one);
    return [...then.values()]
      .filter(({ isReversal }) => isReversal === reverted)
      .map((one) => one.record)
      .filter(({ BlockNumber }) => BlockNumber >= fromBlock && BlockNumber <= toBlock)
      .filter(({ Data }) => to === undefined || Data['to'] === `0x${String(to)}`)
      .sort((one, another) => placeOf(one) - placeOf(another));
  };
  const recordsOf = async (search: EarlierRecordSearch, hits: readonly Hit[], asOf: number) => {
    const found = (await search.documents(hits)).map(({ document }) => record.document.parse(document));
    return recordsAsOf(eventStore, found, asOf);
  };

  it('are those of the events up to there, in both orders and in pages', () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          asOf: fc.oneof(
            fc.nat(log.length),
            fc.integer({ min: 9_000, max: 9_004 }),
            fc.integer({ min: 18_000, max: 18_015 }),
          ),
          fromBlock: fc.oneof(fc.constant(0), fc.nat(22_010)),
          toBlock: fc.oneof(fc.constant(Infinity), fc.nat(22_010)),
          reverted: fc.boolean(),
          to: fc.option(fc.nat(HOLDERS), { nil: undefined }),
        }),
        fc.constantFrom('asc' as const, 'desc' as const),
        fc.integer({ min: 1, max: 900 }),
        async (asked, direction, limit) => {
          const wanted = direction === 'asc' ? expected(asked) : expected(asked).reverse();
          const search = await begin(asked);
          expect(await search.total(keptCounts)).toBe(wanted.length);
          let after: Hit | undefined;
          for (let from = 0; from < Math.min(wanted.length + 1, 3 * limit); from += limit) {
            const hits: Hit[] = await search.hits({ direction, limit, after });
            expect(await recordsOf(search, hits, asked.asOf)).toEqual(wanted.slice(from, from + limit));
            after = hits.at(-1);
          }
        },
      ),
      { numRuns: casesOf(60) },
    ));

  const everything = { fromBlock: 0, toBlock: Infinity, reverted: false };

  it('are read one by one only in the segments that have changed since', async () => {
    let read = 0;
    const counting: ReadStore = Object.create(readStore, {
      getFound: {
        value: (...asked: Parameters<ReadStore['getFound']>) => {
          read += asked[1].length;
          return readStore.getFound(...asked);
        },
      },
    }) as ReadStore;
    const asked = { ...everything, asOf: 2_000 };
    const search = await begin(asked, counting);
    expect(await search.total(keptCounts)).toBe(2_000);
    await search.hits({ direction: 'asc', limit: 1_000 });
    // And one of each segment that is looked at to find the first that begins later.
    expect(read).toBeLessThanOrEqual(SEGMENT_RECORDS + 2);
    read = 0;
    const atHead = await begin({ ...everything, asOf: log.length }, counting);
    expect(await atHead.total(keptCounts)).toBe(expected({ ...everything, asOf: log.length }).length);
    expect(read).toBe(0);
  });

  it('are the same for a search during which a segment changes', async () => {
    const asked = { ...everything, asOf: log.length };
    const wanted = expected(asked);
    const search = await begin(asked);
    await revert([5_000, 16_500]);
    expect(await search.total(keptCounts)).toBe(wanted.length);
    const hits = await search.hits({ direction: 'asc', limit: wanted.length + 1 });
    expect(hits).toHaveLength(wanted.length);
    await observe([16_500]);
    expect(await recordsOf(search, hits.slice(4_990, 5_010), asked.asOf)).toEqual(wanted.slice(4_990, 5_010));
    expect(await search.hits({ direction: 'desc', limit: wanted.length + 1 })).toEqual(hits.toReversed());
  });

  it('are read side by side where every one was corrected since', async () => {
    const asOf = log.length;
    const wrong = expected({ asOf, fromBlock: 7_001, toBlock: 16_000, reverted: false })
      .map(({ BlockNumber }) => BlockNumber)
      .filter((block) => block !== 7_003 && block !== 12_000);
    await revert(wrong, true);
    await observe(wrong);
    let reads = 0;
    const counted: typeof eventStore = {
      readAll: (...asked) => {
        reads += 1;
        return eventStore.readAll(...asked);
      },
    };
    const asked = { asOf, fromBlock: 7_001, toBlock: 16_000, reverted: false, to: 3 };
    const options = { readStore, eventStore: counted, budget, kept };
    const search = await EarlierRecordSearch.begin(selectionOf(asked), options);
    const hits = await search.hits({ direction: 'asc', limit: wrong.length });
    expect(await recordsOf(search, hits, asOf)).toEqual(expected(asked));
    expect(reads).toBeLessThan(wrong.length / 10);
  });
});
