import { inPieces } from '../../../../shared/primitives/in-pieces.ts';
import {
  placesOf,
  SEGMENT_RECORDS,
  segmentOf,
  termOfAll,
  termsOf,
} from '../../../../shared/chain/identifiers/record-terms.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import {
  chainEventsModel,
  type ChainEventCount,
  type ChainEventDocument,
} from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { Hit, ReadStore, Search, SearchPage, StoredDocument } from '../../../../shared/read-store/read-store.ts';
import type { SelectedWatch, Selection } from '../event-selection.ts';
import {
  compareHits,
  inOrder,
  RecordSearch,
  searchedTerms,
  segmentsOf,
  type FoundRecords,
  type KeptCounts,
  type KeptSegments,
  type Segment,
} from '../record-search.ts';
import { recordsAsOf, wasReverted } from './earlier-record.ts';

const { record } = chainEventsModel.collections;

/** More than a segment has of one watch. */
const HITS_MAX = 2 * SEGMENT_RECORDS;
/** A document may have half a megabyte. */
const DOCUMENTS_AT_ONCE = 100;

/** A segment that has changed since the position, and may have records that were there already. */
interface ChangedSegment {
  watch: SelectedWatch;
  /** All of its records. */
  anyOf: Search['anyOf'];
}

interface Parts {
  /** Number of unchanged segments. It never increases. */
  unchanged: number;
  search: RecordSearch;
  inChanged: { segments: readonly ChangedSegment[]; hits: Promise<Hit[]> | undefined };
}

interface Options {
  readStore: ReadStore;
  eventStore: Pick<EventStore, 'readAll'>;
  budget: QueryBudget;
  kept: KeptSegments;
}

type EarlierSelection = Selection & { asOf: Position };

/**
 * Finds and counts the records that a query selects, as of an earlier position. A segment has the records that were
 * first stored after each other, and knows the position of its newest change. A segment that has not changed since is
 * searched as it is; one that begins later has no record of the time. The documents of a segment that has changed
 * since, usually one or two of a watch, are read one by one:
 *
 *     segment           0          1          2            3
 *     first records     1…900      901…1600   1601…2200    2201…
 *     newest change     900        1750       2200         2300
 *     as of 1700        unchanged  changed    changed      later
 */
export class EarlierRecordSearch implements FoundRecords {
  private constructor(
    private readonly selection: EarlierSelection,
    private readonly options: Options,
    private parts: Parts,
  ) {}

  static async begin(selection: EarlierSelection, options: Options): Promise<EarlierRecordSearch> {
    return new EarlierRecordSearch(selection, options, await divided(selection, options));
  }

  total(kept: KeptCounts): Promise<number> {
    return this.finding(
      async ({ search, inChanged }) => (await search.total(kept)) + (await this.hitsInChanged(inChanged)).length,
    );
  }

  hits(page: SearchPage): Promise<Hit[]> {
    const { direction, limit, after } = page;
    const sign = direction === 'asc' ? 1 : -1;
    return this.finding(async ({ search, inChanged }) => {
      const found = (await this.hitsInChanged(inChanged)).filter((hit) => !after || sign * compareHits(hit, after) > 0);
      return inOrder([...(await search.hits(page)), ...found], direction).slice(0, limit);
    });
  }

  documents(hits: readonly Hit[]): Promise<StoredDocument[]> {
    return this.parts.search.documents(hits);
  }

  /** Finds again if a segment that was taken for unchanged has changed meanwhile. Each can do so once. */
  private async finding<Found>(find: (parts: Parts) => Promise<Found>): Promise<Found> {
    for (;;) {
      const found = await find(this.parts);
      const { unchanged } = await sorted(this.selection, this.options);
      if (unchanged.length === this.parts.unchanged) return found;
      this.parts = await divided(this.selection, this.options);
    }
  }

  /** Returns the matching records of the changed segments. They are read once for all pages. */
  private hitsInChanged(inChanged: Parts['inChanged']): Promise<Hit[]> {
    inChanged.hits ??= this.findIn(inChanged.segments);
    return inChanged.hits;
  }

  private async findIn(segments: readonly ChangedSegment[]): Promise<Hit[]> {
    const hits: Hit[] = [];
    for (const segment of segments) hits.push(...(await this.findInSegment(segment)));
    return hits;
  }

  private async findInSegment({ watch, anyOf }: ChangedSegment): Promise<Hit[]> {
    const { fromBlock, toBlock } = this.selection;
    const { readStore, budget } = this.options;
    const search = { ...placesOf(fromBlock, toBlock), anyOf, direction: 'asc', limit: HITS_MAX } as const;
    const found = await readStore.search(record.name, search, budget);
    const hits: Hit[] = [];
    for (const some of inPieces(found, DOCUMENTS_AT_ONCE)) {
      const references = some.map(({ reference }) => reference);
      const stored = await readStore.getFound(record.name, references, budget);
      const documents = stored.map(({ document }) => record.document.parse(document));
      const selected = await this.selectedOf(documents, watch);
      hits.push(...some.filter((_hit, at) => selected[at]));
    }
    return hits;
  }

  /** Tells of each document whether its record was selected then. */
  private async selectedOf(
    documents: readonly ChainEventDocument[],
    { id: watchId, searched }: SelectedWatch,
  ): Promise<boolean[]> {
    const { asOf, reverted } = this.selection;
    const selected = documents.map((document) => wasReverted(document, asOf) === reverted);
    if (searched.length === 0) return selected;
    const there = documents.filter((_document, at) => selected[at]);
    this.options.budget.check();
    const then = await recordsAsOf(this.options.eventStore, there, asOf);
    const wanted = searchedTerms({ watchId, reverted }, searched);
    const matching = new Set(
      there.filter((_document, at) => {
        const terms = then[at] ? termsOf({ watchId, reverted }, then[at]) : [];
        return wanted.every((term) => terms.includes(term));
      }),
    );
    return documents.map((document) => matching.has(document));
  }
}

type IndexedSegment = readonly [index: number, ChainEventCount['segments'][number]];

/** Tells the segments that have not changed since the position from those that have, or begin later. */
const sorted = async (selection: EarlierSelection, { readStore, kept }: Options) => {
  const unchanged: Segment[] = [];
  const since: [SelectedWatch, IndexedSegment[]][] = [];
  for (const [watch, { segments }] of await kept.of(readStore, selection)) {
    const isUnchanged = ([, [, , , , newest]]: IndexedSegment) => newest <= selection.asOf;
    unchanged.push(...segmentsOf(selection, watch, segments.entries().filter(isUnchanged)));
    since.push([watch, [...segments.entries()].filter((segment) => !isUnchanged(segment))]);
  }
  return { unchanged, since };
};

const divided = async (selection: EarlierSelection, options: Options): Promise<Parts> => {
  const { fromBlock, toBlock } = selection;
  const { unchanged, since } = await sorted(selection, options);
  const segments: ChangedSegment[] = [];
  for (const [watch, ofWatch] of since) {
    for (const [index, segment] of await withRecordsThen(watch.id, ofWatch, selection.asOf, options)) {
      const [first, last] = segment;
      if (first <= toBlock && last >= fromBlock) segments.push({ watch, anyOf: everyRecord(watch.id, index, segment) });
    }
  }
  const search = new RecordSearch(options.readStore, placesOf(fromBlock, toBlock), unchanged, options.budget);
  return { unchanged: unchanged.length, search, inChanged: { segments, hits: undefined } };
};

/**
 * Returns the first ones of these segments, up to one whose records were all stored later. Segments are filled one
 * after the other, so this is found by bisection, by any one record of a segment.
 */
const withRecordsThen = async (
  watchId: string,
  segments: readonly IndexedSegment[],
  asOf: Position,
  { readStore, budget }: Options,
): Promise<readonly IndexedSegment[]> => {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [index, segment] = segments[middle] ?? [0, [0, 0, 0, 0, 0]];
    const search = { ...placesOf(0, Infinity), anyOf: everyRecord(watchId, index, segment) };
    const [hit] = await readStore.search(record.name, { ...search, direction: 'asc', limit: 1 }, budget);
    const [found] = hit ? await readStore.getFound(record.name, [hit.reference], budget) : [];
    const [stored = Infinity] = found ? record.document.parse(found.document).changes : [];
    if (stored > asOf) high = middle;
    else low = middle + 1;
  }
  return segments.slice(0, low + 1);
};

const everyRecord = (
  watchId: string,
  index: number,
  [first, last, , , version]: ChainEventCount['segments'][number],
): Search['anyOf'] => {
  const { from: least, to: greatest } = placesOf(first, last);
  return [false, true].map((reverted) => ({
    ...{ segment: segmentOf(watchId, index), terms: [termOfAll({ watchId, reverted })] },
    ...{ least, greatest, version },
  }));
};
