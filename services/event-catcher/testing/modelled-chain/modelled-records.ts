interface Stored {
  hash: string;
  position: number;
}

/** What is stored of a modelled chain: a record of each watch in a block. */
export class ModelledRecords {
  isStoredTwice = false;
  /** By watch, and by block number. */
  private readonly stored: ReadonlyMap<string, Map<number, Stored>>;

  constructor(watchIds: readonly string[]) {
    this.stored = new Map(watchIds.map((id) => [id, new Map<number, Stored>()]));
  }

  get(watchId: string): Map<number, Stored> {
    const stored = this.stored.get(watchId);
    if (!stored) throw new Error(`there is no watch ${watchId}`);
    return stored;
  }

  store(watchId: string, block: number, record: Stored): void {
    this.isStoredTwice ||= this.get(watchId).has(block);
    this.get(watchId).set(block, record);
  }

  revert(blocks: readonly { number: number }[]): void {
    for (const stored of this.stored.values()) for (const { number } of blocks) stored.delete(number);
  }

  revertFrom(block: number): void {
    for (const stored of this.stored.values())
      for (const number of stored.keys()) if (number >= block) stored.delete(number);
  }
}
