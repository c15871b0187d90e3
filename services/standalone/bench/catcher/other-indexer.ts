/** Another indexer, as a process of its own that has started to catch all transfers. */
export interface OtherIndexer {
  name: string;
  pid: number | undefined;
  /** Returns the number of transfers in its database. @throws an error with its last output, if it has ended */
  caught: () => Promise<number>;
  stop: () => Promise<void>;
}
