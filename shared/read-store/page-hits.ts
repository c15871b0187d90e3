import { union, type Bounds, type PostingList } from './embedded/search/posting-list.ts';
import type { SearchPage } from './read-store.ts';

/** Collects the first documents of a page, found in any order, and narrows the range in which further ones can be. */
export class PageHits {
  /** In ascending order, whatever the direction of the page. */
  list: PostingList = [];

  /** Documents beyond these bounds come after enough others already. */
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
