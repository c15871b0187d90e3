import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { inPieces } from '../../../../shared/primitives/in-pieces.ts';
import { pollLoop } from '../../../../shared/loops/poll-loop.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { channelName, type Channel } from '../../domain/channel.ts';
import { resumePointAfter, type Cursors } from '../../../../shared/keys/stream-cursors.ts';
import { toDelivery, type Delivery, type Page } from '../../domain/delivery.ts';
import type { Feed, HistoryPoint } from '../../domain/feed.ts';
import type { Subscription } from '../../domain/subscription.ts';
import {
  checkpointOfChainEvents,
  finalizedBlockOf,
  observations,
  recordsFrom,
  type Observation,
  type PositionRange,
} from '../../edge/observations.ts';
import { ChannelSubscriptions } from './channel-subscriptions.ts';
import { SharedRanges, type ReadRange } from './shared-ranges.ts';
import type { OnePerTick } from '../one-per-tick.ts';

const POLL_INTERVAL_MS = 500;
const DELIVERIES_PER_PAGE = 64;
/** A range that readers share ends with the page that completes so many deliveries, or after so many pages. */
const DELIVERIES_PER_RANGE = 4 * DELIVERIES_PER_PAGE;
const PAGES_PER_RANGE = 8;

interface FinalizedFeedOptions {
  readStore: ReadStore;
  cursors: Cursors;
  pieces: OnePerTick;
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/** What may be sent of a chain: blocks up to `block` are final, and observations up to position `until` are known. */
interface FinalizedRange {
  block: number;
  until: Position;
}

interface FollowedChannel {
  channel: Channel;
  /** Every event up to this position was final and has been offered, or is reverted. */
  reached: Position;
  /** The block of the next observation. Nothing can be offered before this block is final. */
  pendingBlock: number;
}

/**
 * Provides each event once, when its block is final, from the read model alone. Events keep the order of observation,
 * so that a cursor is a position here too: a final event waits for earlier ones that are not final.
 */
export class FinalizedFeed implements Feed {
  readonly loop: SupervisedLoop;
  private readonly subscriptions = new ChannelSubscriptions();
  private readonly ranges: SharedRanges;
  /** The channels that have subscriptions, by name. */
  private readonly followed = new Map<string, FollowedChannel>();

  constructor(private readonly options: FinalizedFeedOptions) {
    this.ranges = new SharedRanges(options.clock);
    this.loop = pollLoop('finalized feed', options.logger, POLL_INTERVAL_MS, () => this.offerNewlyFinalized());
  }

  async now(channel: Channel): Promise<Position> {
    const followed = this.followed.get(channelName(channel));
    if (followed) return followed.reached;
    const finalizedRange = await this.finalizedRange(channel.chainId);
    if (!finalizedRange) throw new Refusal('not_caught_up', 'the read model is behind; ask again', { retryAfter: 1 });
    const { block, until } = finalizedRange;
    let firstPending = until + 1;
    for await (const records of recordsFrom(this.options.readStore, channel, block + 1)) {
      const pending = records.filter(({ reverted }) => !reverted);
      firstPending = Math.min(firstPending, ...pending.map(({ observedPosition }) => observedPosition));
      await this.options.pieces.next();
    }
    return firstPending - 1;
  }

  join(subscription: Subscription, now: Position): void {
    const { channel } = subscription;
    const name = channelName(channel);
    if (!this.followed.has(name)) this.followed.set(name, { channel, reached: now, pendingBlock: 0 });
    this.subscriptions.add(subscription);
  }

  leave(subscription: Subscription): void {
    this.subscriptions.remove(subscription);
    if (!this.subscriptions.has(subscription.channel)) this.followed.delete(channelName(subscription.channel));
  }

  recent(channel: Channel, after: Position): Page | undefined {
    return after >= this.reached(channel) ? { deliveries: [], end: resumePointAfter(after) } : undefined;
  }

  async *replay(channel: Channel, after: Position, signal: AbortSignal): AsyncGenerator<Page> {
    for (let reached = after; !signal.aborted;) {
      const range = { channel, fromBlock: 0, after: reached, until: this.reached(channel) };
      const read = () => this.readRange(range);
      const found = reached < range.until ? await this.ranges.after(channel, reached, { signal, read }) : undefined;
      for (const deliveries of inPieces(found?.deliveries ?? [], DELIVERIES_PER_PAGE)) {
        yield { deliveries, end: resumePointAfter(deliveries.at(-1)?.position ?? reached) };
      }
      reached = Math.max(reached, found?.reached ?? 0);
      yield { deliveries: [], end: resumePointAfter(reached) };
    }
  }

  async *currentRecords(channel: Channel, { fromBlock, begun, limit }: HistoryPoint): AsyncGenerator<Page, undefined> {
    const asOf = Math.min(await this.now(channel), begun?.asOf ?? Infinity);
    const range = { channel, fromBlock, after: begun?.position ?? 0, until: asOf, limit };
    for await (const { deliveries, end } of this.finalizedPages(range)) {
      const isLast = end.position === asOf;
      yield { deliveries, end: isLast ? end : { ...end, historyFrom: fromBlock, asOf } };
    }
  }

  /** The read model deletes nothing, so there never is a gap. */
  gapAfter(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Queries the read model once, and offers the events that have become final. The loop calls it every half second. */
  async offerNewlyFinalized(): Promise<void> {
    const byChain = Map.groupBy(this.followed.values(), ({ channel }) => channel.chainId);
    for (const [chainId, channels] of byChain) {
      const finalizedRange = await this.finalizedRange(chainId);
      if (!finalizedRange) continue;
      for (const followed of channels) await this.offerFinalized(followed, finalizedRange);
    }
  }

  private reached(channel: Channel): Position {
    return this.followed.get(channelName(channel))?.reached ?? 0;
  }

  /** Yields the events of a range that the channel has passed: all are final, or reverted and left out. */
  private async *finalizedPages(range: PositionRange): AsyncGenerator<Page> {
    for await (const { found, reached } of observations(this.options.readStore, range)) {
      const current = found.filter(({ reverted }) => !reverted);
      const deliveries = current.map((observation) => this.delivery(range.channel, observation));
      yield { deliveries, end: resumePointAfter(reached) };
    }
    yield { deliveries: [], end: resumePointAfter(range.until) };
  }

  /** Reads the first pages of a range that the channel has passed. */
  private async readRange(range: PositionRange): Promise<ReadRange> {
    const deliveries: Delivery[] = [];
    let [reached, pages] = [range.after, 0];
    for await (const { deliveries: found, end } of this.finalizedPages(range)) {
      deliveries.push(...found);
      reached = end.position;
      pages += 1;
      if (deliveries.length >= DELIVERIES_PER_RANGE || pages === PAGES_PER_RANGE) break;
      await this.options.pieces.next();
    }
    return { deliveries, reached };
  }

  private delivery(channel: Channel, { record, observedPosition: position }: Observation): Delivery {
    return toDelivery(this.options.cursors, channel, { position, change: 'observed', status: 'finalized', record });
  }

  private async offerFinalized(followed: FollowedChannel, { block, until }: FinalizedRange): Promise<void> {
    const { channel, reached: after, pendingBlock } = followed;
    if (block < pendingBlock || until <= after) return;
    const { readStore, pieces } = this.options;
    await pieces.next();
    for await (const { found } of observations(readStore, { channel, fromBlock: 0, after, until })) {
      for (const observation of found) {
        const { record, observedPosition, reverted } = observation;
        if (!reverted && record.BlockNumber > block) {
          followed.pendingBlock = record.BlockNumber;
          return;
        }
        followed.reached = observedPosition;
        if (!reverted) this.subscriptions.offer(this.delivery(channel, observation));
      }
      await pieces.next();
    }
    followed.reached = until;
  }

  /** Returns `undefined` while the read model of chain events is behind that of chains. */
  private async finalizedRange(chainId: number): Promise<FinalizedRange | undefined> {
    const { readStore } = this.options;
    const { block, position } = await finalizedBlockOf(readStore, chainId);
    const until = await checkpointOfChainEvents(readStore);
    return until < position ? undefined : { block, until };
  }
}
