import { WakeUp } from '../primitives/waiting/wake-up.ts';

/** Another object each time the partition is followed, so that a batch of an earlier time can be told apart. */
export interface FollowedPartition {
  partition: number;
  /** Offset of the next message to read. The bus moves it when the reader, done with a batch, asks for the next one. */
  offset: string;
}

/** The partitions of a topic that one reader follows. Partitions may be added and removed while the bus reads them. */
export class FollowedPartitions implements Iterable<FollowedPartition> {
  /** Rings when a partition was added or removed. */
  readonly changes = new WakeUp();
  private readonly byPartition = new Map<number, FollowedPartition>();
  private isReadNow = false;

  constructor(from: ReadonlyMap<number, string> = new Map()) {
    for (const [partition, offset] of from) this.follow(partition, offset);
  }

  /** Whether the bus has begun to read. Then it reads an added partition at once. */
  get isRead(): boolean {
    return this.isReadNow;
  }

  get(partition: number): FollowedPartition | undefined {
    return this.byPartition.get(partition);
  }

  /** Live: what is added or removed during the iteration counts at once. */
  [Symbol.iterator](): Iterator<FollowedPartition> {
    return this.byPartition.values();
  }

  /** Reads the partition from this offset on, also if it is followed already. */
  follow(partition: number, offset: string): void {
    this.byPartition.set(partition, { partition, offset });
    this.changes.ring();
  }

  letGo(partition: number): void {
    if (this.byPartition.delete(partition)) this.changes.ring();
  }

  /** To be called by the bus once it reads. */
  readingBegins(): void {
    this.isReadNow = true;
  }
}

export const followed = (from: ReadonlyMap<number, string> | FollowedPartitions): FollowedPartitions =>
  from instanceof FollowedPartitions ? from : new FollowedPartitions(from);
