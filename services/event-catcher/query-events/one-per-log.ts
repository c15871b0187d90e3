import type { Hit, SearchPage, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { compareHits, inOrder, type FoundRecords, type KeptCounts } from './record-search.ts';

/** Up to this many records, the logs are counted one by one. */
const COUNTED_ONE_BY_ONE = 100_000;

/**
 * Finds one record per log where several watches may have it. An anonymous event is matched by its layout, which logs
 * of other events may share; every other log belongs to one selected watch. At each place in the chain, the first
 * search that finds a record wins.
 */
export class OnePerLog implements FoundRecords {
  /** @param searches one per watch, the preferred watch first */
  constructor(private readonly searches: readonly [FoundRecords, ...FoundRecords[]]) {}

  async hits({ direction, limit, after }: SearchPage): Promise<Hit[]> {
    const isAscending = direction === 'asc';
    // Begins again at the place of the record before: other watches may have the same log.
    const placeBefore = after && { ...after, order: after.order + (isAscending ? -1 : 1) };
    for (let amount = limit + 2; ; amount *= 2) {
      const page = { direction, limit: amount, after: placeBefore };
      const found = await Promise.all(this.searches.map((search) => search.hits(page)));
      const cut = found.filter(({ length }) => length === amount).map((hits) => hits.at(-1)?.order ?? 0);
      const known = ({ order }: Hit) => cut.every((last) => (isAscending ? order < last : order > last));
      const inSequence = inOrder(firstOfEachPlace(found).filter(known), direction);
      const hits = after
        ? inSequence.filter((hit) => (isAscending ? compareHits(hit, after) > 0 : compareHits(hit, after) < 0))
        : inSequence;
      if (cut.length === 0 || hits.length >= limit) return hits.slice(0, limit);
    }
  }

  /** If there are more than some thousand records, each record counts as a log. */
  async total(kept: KeptCounts): Promise<number> {
    let records = 0;
    for (const search of this.searches) records += await search.total(kept);
    if (records === 0 || records > COUNTED_ONE_BY_ONE) return records;
    return (await this.hits({ direction: 'asc', limit: records, after: undefined })).length;
  }

  documents(hits: readonly Hit[]): Promise<StoredDocument[]> {
    return this.searches[0].documents(hits);
  }
}

const firstOfEachPlace = (found: readonly (readonly Hit[])[]): Hit[] => {
  const taken = new Set<number>();
  return found.flatMap((hits) => {
    const own = hits.filter(({ order }) => !taken.has(order));
    for (const { order } of own) taken.add(order);
    return own;
  });
};
