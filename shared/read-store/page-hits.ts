import { union, type Bounds, type PostingList } from './posting-list.ts';
import type { SearchPage } from './read-store.ts';

/** Gathers the first documents of a page, in whatever order they are found, and knows where others would have to be. */
export class PageHits {
  /** In order, whatever the direction of the page is. */
  list: PostingList = [];

  /** What is beyond comes after enough others. */
  bounds: Bounds;
  private readonly page: Pick<SearchPage, 'direction' | 'limit'>;

  constructor(page: PageHits['page'], bounds: Bounds) {
    this.page = page;
    this.bounds = bounds;
  }

  add(found: PostingList): void {
    const { direction, limit } = this.page;
    const all = this.list.length === 0 ? found : union(this.list, found);
    this.list = direction === 'asc' ? all.slice(0, 2 * limit) : all.slice(Math.max(0, all.length - 2 * limit));
    if (this.list.length < 2 * limit) return;
    const [first = 0, firstRow = 0] = this.list;
    const [last = 0, lastRow = 0] = this.list.slice(-2);
    this.bounds =
      direction === 'asc'
        ? { ...this.bounds, to: last, toRow: lastRow }
        : { ...this.bounds, from: first, fromRow: firstRow };
  }
}
