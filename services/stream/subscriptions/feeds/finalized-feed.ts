import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { pause } from '../../../shared/primitives/pause.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { channelName, type Channel } from '../domain/channel.ts';
import { resumePointAfter, type Cursors } from '../domain/cursor.ts';
import { toDelivery, type Delivery, type Page } from '../domain/delivery.ts';
import type { Feed } from '../domain/feed.ts';
import type { Subscription } from '../domain/subscription.ts';
import {
  checkpointOfChainEvents,
  finalizedBlockOf,
  observations,
  recordsFrom,
  type Observation,
  type PositionRange,
} from '../edge/observations.ts';
import { ChannelSubscriptions } from './channel-subscriptions.ts';
import type { OnePerTick } from './one-per-tick.ts';

const POLL_INTERVAL_MS = 500;

interface FinalizedFeedOptions {
  readStore: ReadStore;
  cursors: Cursors;
  pieces: OnePerTick;
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
  /** Nothing can be offered before this block is final: it is the block of the next observation. */
  pendingBlock: number;
}

/**
 * Gives each event once, when its block is final, from the read model alone. The events keep the order of observation,
 * so that a cursor is a position here too: a final event waits for the earlier ones that are not final.
 */
export class FinalizedFeed implements Feed {
  readonly loop: SupervisedLoop;
  private readonly subscriptions = new ChannelSubscriptions();
  /** The channels that have subscriptions, by name. */
  private readonly followed = new Map<string, FollowedChannel>();

  constructor(private readonly options: FinalizedFeedOptions) {
    this.loop = new SupervisedLoop('finalized feed', options.logger, async (signal, reportRunning) => {
      while (!signal.aborted) {
        await this.offerNewlyFinalized();
        reportRunning();
        await pause(POLL_INTERVAL_MS, signal);
      }
    });
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
      const until = this.reached(channel);
      yield* this.finalizedPages({ channel, fromBlock: 0, after: reached, until });
      reached = until;
    }
  }

  currentRecords(channel: Channel, fromBlock: number): AsyncIterable<Page> {
    return this.finalizedPages({ channel, fromBlock, after: 0, until: this.reached(channel) });
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

  /** Yields the events of a range that the channel has passed: all of them are final, or reverted and left out. */
  private async *finalizedPages(range: PositionRange): AsyncGenerator<Page> {
    for await (const { found, reached } of observations(this.options.readStore, range)) {
      const current = found.filter(({ reverted }) => !reverted);
      const deliveries = current.map((observation) => this.delivery(range.channel, observation));
      yield { deliveries, end: resumePointAfter(reached) };
    }
    yield { deliveries: [], end: resumePointAfter(range.until) };
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

  /** Returns `undefined` while the read model of chain events is behind the one of chains. */
  private async finalizedRange(chainId: number): Promise<FinalizedRange | undefined> {
    const { readStore } = this.options;
    const { block, position } = await finalizedBlockOf(readStore, chainId);
    const until = await checkpointOfChainEvents(readStore);
    return until < position ? undefined : { block, until };
  }
}
