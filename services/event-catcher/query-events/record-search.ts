import { LRUCache } from 'lru-cache';
import {
  placesOf,
  segmentOf,
  termOf,
  termOfAll,
  type SearchedRecords,
} from '../../../shared/chain/identifiers/record-terms.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { chainEventsModel, type ChainEventCount } from '../../../shared/read-models/event-catcher/chain-events.ts';
import type { QueryBudget } from '../../../shared/read-store/query-budget.ts';
import {
  rangeAfter,
  type Hit,
  type ReadStore,
  type Search,
  type SearchPage,
  type StoredDocument,
} from '../../../shared/read-store/read-store.ts';
import type { SelectedWatch, Selection } from './event-selection.ts';

const { record, count } = chainEventsModel.collections;

/** How many segments are searched first, and the factor by which that number grows while it is not enough. */
const SEGMENTS_FIRST = 16;
const SEGMENTS_GROWTH = 16;

/** Places in the chain, inclusive. */
type Places = Pick<Search, 'from' | 'to'>;

/** A segment that may have matching records in these places. */
export interface Segment extends Places {
  searched: Search['anyOf'][number];
  /** How many of its records match, if that is known without a search. */
  counted: number | undefined;
  /** Whether all of its blocks are selected. */
  isWhole: boolean;
  /** Position of its newest change. */
  changed: number;
}

/** The segments that changed last, this many, may change with the next block. The counts of all others are kept. */
const CHANGING_SEGMENTS = 4;
const COUNTS_KEPT_MAX = 10_000;

/** The number of matching records in segments that rarely change, so that the next page need not count them again. */
export class KeptCounts extends LRUCache<string, number> {
  constructor() {
    super({ max: COUNTS_KEPT_MAX });
  }
}

const WATCHES_KEPT = 100;

/** The segments of watches, parsed again only when they have changed: a watch may have thousands. */
export class KeptSegments extends LRUCache<string, { position: number; counted: ChainEventCount }> {
  constructor() {
    super({ max: WATCHES_KEPT });
  }

  /** Returns the selected watches that have records, with their segments. */
  async of(
    readStore: Pick<ReadStore, 'getMany'>,
    { watches }: Selection,
  ): Promise<[watch: SelectedWatch, counted: ChainEventCount][]> {
    const stored = await readStore.getMany(
      count.name,
      watches.map(({ id }) => id),
    );
    return watches.flatMap((watch): [SelectedWatch, ChainEventCount][] => {
      const ofWatch = stored.get(watch.id);
      return ofWatch ? [[watch, this.parse(ofWatch)]] : [];
    });
  }

  private parse({ id, position, document }: StoredDocument): ChainEventCount {
    const kept = this.get(id);
    if (kept?.position === position) return kept.counted;
    const counted = count.document.parse(document);
    this.set(id, { position, counted });
    return counted;
  }
}

/** Finds and counts the records that a query selects. */
export type FoundRecords = Pick<RecordSearch, 'hits' | 'total' | 'documents'>;

/** Finds and counts the records that a query selects, as of the time when it began. */
export class RecordSearch {
  constructor(
    private readonly readStore: ReadStore,
    private readonly places: Places,
    private readonly segments: readonly Segment[],
    private readonly budget: QueryBudget,
  ) {}

  static async begin(
    readStore: ReadStore,
    selection: Selection,
    { budget, kept }: { budget: QueryBudget; kept: KeptSegments },
  ): Promise<RecordSearch> {
    const segments = (await kept.of(readStore, selection)).flatMap(([watch, { segments }]) =>
      segmentsOf(selection, watch, segments.entries()),
    );
    return new RecordSearch(readStore, placesOf(selection.fromBlock, selection.toBlock), segments, budget);
  }

  async total(kept: KeptCounts): Promise<number> {
    const known = this.segments.reduce((total, { counted = 0 }) => total + counted, 0);
    const searched = this.segments
      .filter(({ counted }) => counted === undefined)
      .sort((one, other) => one.changed - other.changed);
    const settled = searched.slice(0, -CHANGING_SEGMENTS).filter(({ isWhole }) => isWhole);
    const isSettled = new Set(settled);
    const others = searched.filter((segment) => !isSettled.has(segment));
    return known + (await this.countOnce(settled, kept)) + (await this.count(others));
  }

  private async countOnce(segments: readonly Segment[], kept: KeptCounts): Promise<number> {
    if (segments.length === 0) return 0;
    const ofEach = segments.map(({ searched: { segment, terms }, changed }) => [segment, changed, ...terms].join(' '));
    const key = sha256(ofEach.join());
    const counted = kept.get(key) ?? (await this.count(segments));
    kept.set(key, counted);
    return counted;
  }

  private count(segments: readonly Segment[]): Promise<number> {
    const anyOf = segments.map(({ searched }) => searched);
    return this.readStore.countFound(record.name, { ...this.places, anyOf }, this.budget);
  }

  /** Searches the segments in chain order, some at a time, until there are enough hits. */
  async hits({ direction, limit, after }: SearchPage): Promise<Hit[]> {
    const isAscending = direction === 'asc';
    let places = rangeAfter(this.places, direction, after);
    let left = this.segments.toSorted((one, other) => (isAscending ? one.from - other.from : other.to - one.to));
    let hits: Hit[] = [];
    for (let amount = SEGMENTS_FIRST; ; amount *= SEGMENTS_GROWTH) {
      left = left.filter(({ from, to }) => from <= places.to && to >= places.from);
      if (left.length === 0) return hits;
      const anyOf = left.slice(0, amount).map(({ searched }) => searched);
      left = left.slice(amount);
      const found = await this.readStore.search(
        record.name,
        { ...places, anyOf, direction, limit, after },
        this.budget,
      );
      hits = inOrder([...hits, ...found], direction).slice(0, limit);
      // Once there are enough hits, later segments are not needed.
      const last = hits.length === limit ? hits.at(-1) : undefined;
      if (last) places = isAscending ? { ...places, to: last.order } : { ...places, from: last.order };
    }
  }

  documents(hits: readonly Hit[]): Promise<StoredDocument[]> {
    const references = hits.map(({ reference }) => reference);
    return this.readStore.getFound(record.name, references, this.budget);
  }
}

/** Returns those segments of a watch that have records of these blocks, canonical or reverted as selected. */
export const segmentsOf = (
  { fromBlock, toBlock, reverted }: Selection,
  { id: watchId, searched }: SelectedWatch,
  segments: Iterable<readonly [index: number, ChainEventCount['segments'][number]]>,
): Segment[] => {
  const terms = searchedTerms({ watchId, reverted }, searched);
  return [...segments].flatMap(([index, [first, last, ofCanonical, ofReverted, changed]]) => {
    const amount = reverted ? ofReverted : ofCanonical;
    if (amount === 0 || first > toBlock || last < fromBlock) return [];
    const isWhole = fromBlock <= first && last <= toBlock;
    const counted = isWhole && searched.length === 0 ? amount : undefined;
    const { from, to } = placesOf(first, last);
    const segment = { segment: segmentOf(watchId, index), terms, least: from, greatest: to, version: changed };
    return [{ from, to, searched: segment, counted, isWhole, changed }];
  });
};

/** Returns the terms by which the records of a watch are searched for. */
export const searchedTerms = (records: SearchedRecords, searched: SelectedWatch['searched']): number[] =>
  searched.length === 0 ? [termOfAll(records)] : searched.map((one) => termOf(records, one));

/** The references of one store are either all numbers or all texts. */
export const inOrder = (hits: readonly Hit[], direction: SearchPage['direction']): Hit[] => {
  const sign = direction === 'asc' ? 1 : -1;
  return hits.toSorted((one, other) => sign * compareHits(one, other));
};

export const compareHits = (one: Hit, other: Hit): number => {
  if (one.order !== other.order || one.reference === other.reference) return one.order - other.order;
  return one.reference < other.reference ? -1 : 1;
};
