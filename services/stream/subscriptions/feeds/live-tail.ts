import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Logger } from 'pino';
import { topics } from '../../../../schemas/topics.ts';
import { Refusal, unavailable } from '../../../../shared/errors/refusal.ts';
import { CatchUpTracker } from '../../../../shared/loops/catch-up-tracker.ts';
import { pollLoop } from '../../../../shared/loops/poll-loop.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { FollowedPartitions } from '../../../../shared/message-bus/followed-partitions.ts';
import type { BusBatch, Offsets } from '../../../../shared/message-bus/message-bus.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import type { ChainMessage } from '../../domain/chain-message.ts';
import type { RecentMessages } from '../../domain/recent-messages.ts';
import { offsetIn, warmStart, type WarmStartOptions } from './warm-start.ts';

const topic = topics.chainEvents;

/** Yields to sockets after every batch, and within a batch after this much. */
const MESSAGES_PER_TICK = 64;
const OFFERS_PER_TICK = 10_000;
const POLL_INTERVAL_MS = 1_000;
/** A partition is let go when nobody has asked for it for so long: clients that lost their connection come back. */
const LET_GO_AFTER_MS = 5 * 60_000;
const BEGIN_WITHIN_MS = 5_000;

interface LiveTailOptions extends WarmStartOptions {
  /**
   * Called once per message, in position order per partition, when the message is in memory. Returns to how many
   * subscriptions it was offered; `undefined` if its contract has none.
   */
  onMessage: (message: ChainMessage) => number | undefined;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
  /** How long a subscriber waits for the newest messages of its partition, before it is refused; default 5 s. */
  beginWithinMs?: number;
}

/** A partition from the moment in which somebody asked for it, until it is let go. */
interface Following {
  partition: number;
  usedAtMs: number;
  /** Resolves when the newest messages are in memory; rejects if loading fails. */
  begun: PromiseWithResolvers<undefined>;
  /** Undefined until it is known where to begin. Another object when the topic was replaced. */
  tail: Tail | undefined;
}

interface Tail {
  recent: RecentMessages;
  /** Offset of the next message to handle. */
  next: bigint;
  /** Offset of the next message when the reading began. */
  readonly end: bigint;
  tracker: CatchUpTracker<bigint>;
}

/**
 * Receives those partitions of the topic for which somebody asks, and keeps the newest messages of each in memory
 * (decision 0081).
 */
export class LiveTail {
  /** Queries the end of the topic every second, and lets go of partitions. */
  readonly loop: SupervisedLoop;
  private readonly read = new FollowedPartitions();
  private readonly following = new Map<number, Following>();
  /** How many subscriptions each partition has. */
  private readonly holds = new Map<number, number>();
  /** Tells whether all followed partitions are read to the end. */
  private catchUpTracker = new CatchUpTracker<Offsets>();
  private readonly now: () => number;

  constructor(private readonly options: LiveTailOptions) {
    this.now = options.now ?? (() => performance.now());
    this.loop = pollLoop(`end of ${topic.name}`, options.logger, POLL_INTERVAL_MS, (signal) =>
      untilAborted(this.queryEnd(), signal),
    );
  }

  /**
   * Whether every message published until shortly ago in the followed partitions has been handled; false while that is
   * unknown. A newly followed partition has as long to catch up as one that lags.
   */
  get isCaughtUp(): boolean {
    return this.checkCaughtUp() && this.read.isRead;
  }

  /** The partitions that are followed, in order. */
  get partitions(): number[] {
    return [...this.following.keys()].sort((one, other) => one - other);
  }

  /** Returns `undefined` while the partition is not followed, or is behind. */
  recentMessages(partition: number): RecentMessages | undefined {
    const tail = this.following.get(partition)?.tail;
    return tail && this.isTailCaughtUp(tail) ? tail.recent : undefined;
  }

  /**
   * Follows a partition for some minutes at least. Of one that was not followed, waits for the newest messages, unless
   * that takes too long.
   * @throws Refusal dependency_unavailable
   */
  async follow(partition: number): Promise<void> {
    const following = this.following.get(partition) ?? this.begin(partition);
    following.usedAtMs = this.now();
    if (this.recentMessages(partition)) return;
    const late = AbortSignal.timeout(this.options.beginWithinMs ?? BEGIN_WITHIN_MS);
    await untilAborted(following.begun.promise, late).catch((error: unknown) => {
      if (!late.aborted) throw error;
    });
  }

  /** Keeps a partition followed until `release`. */
  hold(partition: number): void {
    this.holds.set(partition, (this.holds.get(partition) ?? 0) + 1);
  }

  release(partition: number): void {
    const left = (this.holds.get(partition) ?? 0) - 1;
    if (left > 0) this.holds.set(partition, left);
    else this.holds.delete(partition);
    const following = this.following.get(partition);
    if (following) following.usedAtMs = this.now();
  }

  /** Returns the partitions to read, which change; those that are followed begin again. */
  async startAt(): Promise<FollowedPartitions> {
    await this.options.messageBus.createTopics([topic]);
    const askedAtMs = this.now();
    const latest = await this.options.messageBus.offsets(topic, 'latest');
    await Promise.all(Array.from(this.following.values(), (following) => this.load(following)));
    // The topic may have been replaced: forget the old one.
    this.catchUpTracker = new CatchUpTracker();
    this.catchUpTracker.headWas(latest, askedAtMs);
    this.checkCaughtUp();
    return this.read;
  }

  /** Queries the end of the topic, and lets go of partitions that nobody asks for. */
  async queryEnd(): Promise<void> {
    const { messageBus } = this.options;
    const { catchUpTracker } = this;
    const tails = this.tails();
    const askedAtMs = this.now();
    const latest = await messageBus.offsets(topic, 'latest');
    const earliest = await messageBus.offsets(topic, 'earliest');
    // The topic was replaced meanwhile.
    if (catchUpTracker !== this.catchUpTracker) return;
    for (const [partition, tail] of tails) {
      // Messages that were deleted meanwhile need not be handled.
      const first = offsetIn(earliest, partition);
      if (first > tail.next) moveTo(tail, first);
      tail.tracker.headWas(offsetIn(latest, partition), askedAtMs);
    }
    catchUpTracker.headWas(latest, askedAtMs);
    this.checkCaughtUp();
    this.letGoOfUnused();
    for (const following of this.following.values()) this.checkBegun(following);
  }

  /** The batches of a partition must come in the order of their offsets; a batch may come again. */
  async handleBatch({ partition, messages }: BusBatch): Promise<void> {
    const following = this.following.get(partition);
    const tail = following?.tail;
    if (!tail) return;
    const isFollowed = () => this.following.get(partition)?.tail === tail;
    let [fannedOut, offers] = [0, 0];
    for (const message of await this.options.genuine.filter(messages)) {
      if (!isFollowed()) return;
      const chainMessage = this.options.reader.message(message);
      if (!chainMessage || !tail.recent.add(chainMessage)) continue;
      const offered = this.options.onMessage(chainMessage);
      if (offered === undefined) continue;
      fannedOut += 1;
      offers += offered;
      if (fannedOut < MESSAGES_PER_TICK && offers < OFFERS_PER_TICK) continue;
      [fannedOut, offers] = [0, 0];
      await yieldToEventLoop();
    }
    await yieldToEventLoop();
    const last = messages.at(-1);
    if (last) moveTo(tail, BigInt(last.offset) + 1n);
    this.checkBegun(following);
  }

  private begin(partition: number): Following {
    const begun = Promise.withResolvers<undefined>();
    const following: Following = { partition, usedAtMs: this.now(), begun, tail: undefined };
    this.following.set(partition, following);
    this.load(following).catch((error: unknown) => {
      // The topic was replaced meanwhile, and loaded again.
      if (following.tail) return;
      // Whoever asks next tries again.
      if (this.following.get(partition) === following) this.following.delete(partition);
      begun.reject(error instanceof Refusal ? error : unavailable('the published messages cannot be read', error));
    });
    return following;
  }

  private async load(following: Following): Promise<void> {
    const { partition } = following;
    // Lets `handleBatch` drop a batch that was read before the partition was let go: there is no `tail` yet.
    await yieldToEventLoop();
    const askedAtMs = this.now();
    const { offset, end, recent } = await warmStart(this.options, partition);
    if (this.following.get(partition) !== following) return;
    const tracker = new CatchUpTracker<bigint>();
    tracker.headWas(end, askedAtMs);
    following.tail = { recent, next: offset, end, tracker };
    this.read.follow(partition, String(offset));
    this.checkBegun(following);
  }

  private letGoOfUnused(): void {
    for (const { partition, usedAtMs, tail } of this.following.values()) {
      if (!tail || this.holds.has(partition) || this.now() - usedAtMs < LET_GO_AFTER_MS) continue;
      this.following.delete(partition);
      this.read.letGo(partition);
    }
  }

  private tails(): [partition: number, Tail][] {
    return Array.from(this.following.values()).flatMap(({ partition, tail }) => (tail ? [[partition, tail]] : []));
  }

  private checkCaughtUp(): boolean {
    const hasReached = (ends: Offsets) =>
      this.tails().every(([partition, { next }]) => offsetIn(ends, partition) <= next);
    return this.catchUpTracker.isCaughtUp(hasReached, this.now());
  }

  private checkBegun({ tail, begun }: Following): void {
    if (tail && this.isTailCaughtUp(tail)) begun.resolve(undefined);
  }

  private isTailCaughtUp({ tracker, next }: Tail): boolean {
    return tracker.isCaughtUp((end) => next >= end, this.now());
  }
}

const moveTo = (tail: Tail, next: bigint): void => {
  tail.next = next;
  if (next >= tail.end) tail.recent.wereAllAdded();
};
