import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from 'pino';
import { pause } from '../../../shared/primitives/pause.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { channelName, type Channel } from '../domain/channel.ts';
import { placeOf, type Cursors } from '../domain/cursor.ts';
import { toDelivery, type Delivery } from '../domain/delivery.ts';
import type { Feed } from '../domain/feed.ts';
import type { Page } from '../domain/delivery.ts';
import type { Subscription } from '../domain/subscription.ts';
import {
  finalizedBlockOf,
  observations,
  observedUntil,
  type Observation,
  type PositionRange,
} from '../edge/observations.ts';
import { Members } from './members.ts';

const LOOK_EVERY_MS = 500;

interface FinalizedFeedOptions {
  readStore: ReadStore;
  cursors: Cursors;
  logger: Logger;
}

/** What may be told of a chain: blocks up to `block`, observations up to `until`. */
interface FinalizedRange {
  block: number;
  until: Position;
}

interface Followed {
  channel: Channel;
  /** Everything up to here is final and was offered, or was reverted. */
  reached: Position;
  /** Block of the observation that comes next, while it is not final. */
  waitsFor: number;
}

/**
 * Each event once, when its block is final, from the read model alone. In the order of observation, so that a cursor is a
 * place like any other: what is final waits for what was observed before it and is not.
 */
export class FinalizedFeed implements Feed {
  readonly loop: SupervisedLoop;
  private readonly members = new Members();
  /** By channel, while somebody listens. */
  private readonly followed = new Map<string, Followed>();

  constructor(private readonly options: FinalizedFeedOptions) {
    this.loop = new SupervisedLoop('finalized feed', options.logger, async (signal, working) => {
      while (!signal.aborted) {
        await this.advance();
        working();
        await pause(LOOK_EVERY_MS, signal);
      }
    });
  }

  async now(channel: Channel): Promise<Position> {
    const finalizedRange = await this.finalizedRange(channel.chainId);
    if (!finalizedRange) throw new Refusal('not_caught_up', 'the read model is behind; ask again', { retryAfter: 1 });
    const { block, until } = finalizedRange;
    for await (const page of this.pages({ channel, fromBlock: block + 1, after: 0, until })) {
      const pending = page.find(({ reverted }) => !reverted);
      if (pending) return pending.observedPosition - 1;
    }
    return until;
  }

  join(subscription: Subscription, now: Position): void {
    const { channel } = subscription;
    const name = channelName(channel);
    if (!this.followed.has(name)) this.followed.set(name, { channel, reached: now, waitsFor: 0 });
    this.members.join(subscription);
  }

  leave(subscription: Subscription): void {
    this.members.leave(subscription);
    if (!this.members.has(subscription.channel)) this.followed.delete(channelName(subscription.channel));
  }

  recent(channel: Channel, after: Position): Page | undefined {
    return after >= this.reached(channel) ? { deliveries: [], end: placeOf(after) } : undefined;
  }

  async *older(channel: Channel, after: Position, signal: AbortSignal): AsyncGenerator<Page> {
    for (let reached = after; !signal.aborted;) {
      const until = this.reached(channel);
      yield* this.final({ channel, fromBlock: 0, after: reached, until });
      reached = until;
    }
  }

  history(channel: Channel, fromBlock: number): AsyncIterable<Page> {
    return this.final({ channel, fromBlock, after: 0, until: this.reached(channel) });
  }

  /** The read model keeps everything. */
  lostAfter(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Looks once, and offers what has become final; the loop does so every half second. */
  async advance(): Promise<void> {
    const byChain = Map.groupBy(this.followed.values(), ({ channel }) => channel.chainId);
    for (const [chainId, channels] of byChain) {
      const finalizedRange = await this.finalizedRange(chainId);
      if (!finalizedRange) continue;
      for (const followed of channels) await this.tell(followed, finalizedRange);
    }
  }

  private reached(channel: Channel): Position {
    return this.followed.get(channelName(channel))?.reached ?? 0;
  }

  private pages(range: PositionRange): AsyncGenerator<Observation[]> {
    return observations(this.options.readStore, range);
  }

  /** A range that the channel has passed: what stands in it is final. */
  private async *final(range: PositionRange): AsyncGenerator<Page> {
    for await (const page of this.pages(range)) {
      const standing = page.filter(({ reverted }) => !reverted);
      const deliveries = standing.map((observation) => this.delivery(range.channel, observation));
      yield { deliveries, end: placeOf(page.at(-1)?.observedPosition ?? range.after) };
    }
    yield { deliveries: [], end: placeOf(range.until) };
  }

  private delivery(channel: Channel, { record, observedPosition: position }: Observation): Delivery {
    return toDelivery(this.options.cursors, channel, { position, change: 'observed', record });
  }

  private async tell(followed: Followed, { block, until }: FinalizedRange): Promise<void> {
    const { channel, reached: after, waitsFor } = followed;
    if (block < waitsFor || until <= after) return;
    for await (const page of this.pages({ channel, fromBlock: 0, after, until })) {
      for (const observation of page) {
        const { record, observedPosition, reverted } = observation;
        if (!reverted && record.BlockNumber > block) {
          followed.waitsFor = record.BlockNumber;
          return;
        }
        followed.reached = observedPosition;
        if (!reverted) this.members.offer(this.delivery(channel, observation));
      }
    }
    followed.reached = until;
  }

  /** `undefined`: the observations are behind the finality. */
  private async finalizedRange(chainId: number): Promise<FinalizedRange | undefined> {
    const { readStore } = this.options;
    const { block, position } = await finalizedBlockOf(readStore, chainId);
    const until = await observedUntil(readStore);
    return until < position ? undefined : { block, until };
  }
}
