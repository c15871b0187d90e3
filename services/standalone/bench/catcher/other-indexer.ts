/** An indexer of somebody else, as a process of its own that has begun to catch all transfers. */
export interface OtherIndexer {
  name: string;
  pid: number | undefined;
  /** How many transfers are in its database. @throws an error with what it said last, if it has ended */
  caught: () => Promise<number>;
  stop: () => Promise<void>;
}
