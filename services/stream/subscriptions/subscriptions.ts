import type { ProblemCode } from '../../../schemas/http/problem.ts';
import type { Finality, ReadState, Subscribe } from '../../../schemas/socket/stream-commands.ts';
import { invalid, Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { refusalOf } from '../../../shared/edge/answers/problem-document.ts';
import type { Logger } from 'pino';
import { limitedAtATime } from '../../../shared/edge/limits/rate-limits.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import type { StreamMetrics } from '../edge/stream-metrics.ts';
import { catchUp } from '../domain/catch-up.ts';
import type { Page } from '../domain/delivery.ts';
import { channelKey, channelName, cursorScope, type Channel } from '../domain/channel.ts';
import { resumePointAfter, type Cursors, type ResumePoint } from '../../../shared/keys/stream-cursors.ts';
import { historyOf, type Feed, type HistoryPoint } from '../domain/feed.ts';
import type { Acknowledge, Subscriber, SubscriptionCommands } from '../domain/subscriber.ts';
import { Subscription } from '../domain/subscription.ts';
import type { FindChannel } from './find-channel.ts';
import { LimitedByKey } from './limited-by-key.ts';
import type { OnePerTick } from './one-per-tick.ts';
import type { StateListener, WatchStates } from './watch-states.ts';

const ID_CHARACTERS = 20;
/**
 * Maximum histories sent to a user concurrently, over all connections: each holds a page until the client has read it.
 */
export const HISTORIES_PER_USER = 8;
/**
 * Maximum concurrent lookups of old cursors per user. Counted apart from histories, which wait for the client to read.
 */
const LOOKUPS_PER_USER = 8;

const NOT_WITH_CURSOR = 'is not given together with cursor, which says by itself where to begin';

interface SubscriptionsOptions {
  feeds: Record<Finality, Feed>;
  channels: FindChannel;
  watchStates: WatchStates;
  firstChangedBlock: (
    channel: Channel,
    range: { after: Position; until: Position },
    signal: AbortSignal,
  ) => Promise<number>;
  cursors: Cursors;
  perConnectionMax: number;
  pieces: OnePerTick;
  clock: Clock;
  ids: Ids;
  metrics: Pick<StreamMetrics, 'resumes' | 'gaps'>;
  logger: Logger;
}

/** Where a subscription begins. */
interface StartingPosition {
  /** The feed's `now`. */
  now: Position;
  resumePoint: ResumePoint;
  /** The cursor for the answer. */
  cursor: string;
  /** Set if messages between the requested cursor and the resume point are no longer stored. */
  gap?: { requested: string; earliest: string; fromBlock: number };
  /** The history to send first; `undefined` if none is sent. */
  history?: HistoryPoint;
  /** Whether `live` is sent when the subscription is live. */
  announcesLive: boolean;
}

/** Opens and ends subscriptions. */
export class Subscriptions implements SubscriptionCommands {
  /** Ends what a subscription hears of its watch. */
  private readonly leaveWatch = new WeakMap<Subscription, () => void>();
  private readonly histories = new LimitedByKey(HISTORIES_PER_USER);
  private readonly lookups = new LimitedByKey(LOOKUPS_PER_USER);

  constructor(private readonly options: SubscriptionsOptions) {}

  async open(subscriber: Subscriber, command: Subscribe, acknowledge: Acknowledge): Promise<void> {
    const { cursor: asked, fromBlock } = command;
    if (asked !== undefined && fromBlock !== undefined) throw invalid({ path: 'fromBlock', message: NOT_WITH_CURSOR });
    await this.options.pieces.next();
    const { channel, watch } = await this.options.channels.find(command, subscriber.claimant);
    this.refuseDuplicateOrTooMany(subscriber, channel);
    const feed = this.options.feeds[channel.finality];
    const start = await this.findStartingPosition(feed, channel, command, subscriber).catch((error: unknown) => {
      if (subscriber.signal.aborted) return undefined;
      throw error;
    });
    // Other subscriptions may have been opened meanwhile. Nothing is awaited from here on, so the checks hold when this
    // one is added.
    if (!start || subscriber.signal.aborted) return;
    this.refuseDuplicateOrTooMany(subscriber, channel);
    const { resumePoint, cursor, gap, history, announcesLive } = start;
    const subscription = new Subscription({
      id: `sub_${this.options.ids.token(ID_CHARACTERS)}`,
      channel,
      buffer: subscriber.buffer,
      resumePoint,
      fromBlock: history?.fromBlock ?? 0,
      since: history?.since,
      yieldToOthers: () => this.options.pieces.next(),
      onFallBehind: () => {
        void this.sendUntilLive(subscriber, subscription, { announcesLive: false });
      },
    });
    const { id: subscriptionId } = subscription;
    subscriber.subscriptions.set(subscriptionId, subscription);
    const { state: read, lastError } = this.options.watchStates.stateOf(watch);
    const state = read === 'live' && announcesLive ? 'catching_up' : read;
    acknowledge({ ok: true, subscriptionId, channel: channelName(channel), cursor, state }, lastError);
    this.listenToState(subscriber, subscription, read);
    if (gap) {
      this.options.metrics.gaps.add({ reason: 'not_kept' });
      subscriber.emit('gap', { subscriptionId, ...gap, resumeWith: gap.earliest });
    }
    feed.join(subscription, start.now);
    void this.sendUntilLive(subscriber, subscription, start);
  }

  close(subscriber: Subscriber, subscriptionId: string): void {
    const subscription = subscriber.subscriptions.get(subscriptionId);
    if (!subscription) throw new Refusal('subscription_not_found', 'this connection has no such subscription');
    this.end(subscriber, subscription);
  }

  closeAll(subscriber: Subscriber): void {
    for (const subscription of subscriber.subscriptions.values()) this.end(subscriber, subscription);
  }

  private end(subscriber: Subscriber, subscription: Subscription): void {
    subscription.end();
    this.leaveWatch.get(subscription)?.();
    this.options.feeds[subscription.channel.finality].leave(subscription);
    subscriber.subscriptions.delete(subscription.id);
  }

  private listenToState(subscriber: Subscriber, subscription: Subscription, told: ReadState): void {
    const { id: subscriptionId, channel } = subscription;
    const listener: StateListener = {
      changed: (state) => {
        subscriber.emit('state', { subscriptionId, ...state });
      },
      removed: () => {
        this.stop(subscriber, subscription, 'watch_not_found');
      },
    };
    this.leaveWatch.set(subscription, this.options.watchStates.listen(channel.watchId, listener, told));
  }

  private stop(subscriber: Subscriber, subscription: Subscription, code: ProblemCode): void {
    this.end(subscriber, subscription);
    subscriber.emit('stopped', { subscriptionId: subscription.id, code });
  }

  private refuseDuplicateOrTooMany({ subscriptions }: Subscriber, channel: Channel): void {
    const name = channelName(channel);
    const { perConnectionMax } = this.options;
    for (const other of subscriptions.values()) {
      if (channelName(other.channel) !== name) continue;
      throw new Refusal('already_subscribed', 'a connection has one subscription per channel');
    }
    if (subscriptions.size >= perConnectionMax) {
      throw limitedAtATime(`${String(perConnectionMax)} subscriptions of a connection`);
    }
  }

  private async findStartingPosition(
    feed: Feed,
    channel: Channel,
    { cursor, fromBlock }: Subscribe,
    { holderKey, signal }: Pick<Subscriber, 'holderKey' | 'signal'>,
  ): Promise<StartingPosition> {
    const { cursors, clock, firstChangedBlock } = this.options;
    const scope = cursorScope(channel);
    const now = await feed.now(channel);
    const resumePoint: ResumePoint = { position: now, newestAtMs: clock.now() };
    if (cursor !== undefined) {
      const requested = cursors.read([scope, channelKey(channel)], cursor);
      const history = historyOf(requested);
      if (history && !history.begun) return { now, resumePoint, cursor, history, announcesLive: true };
      // The changes after a history that has begun elsewhere, or after the answer of a query.
      const after = history?.begun ? { ...history.begun, position: history.begun.asOf } : requested;
      const gapEnd = await feed.gapAfter(channel, after, signal);
      if (gapEnd === undefined)
        return { now, resumePoint: after, cursor, ...(history && { history }), announcesLive: true };
      const afterGap = gapEnd < now ? resumePointAfter(gapEnd) : { position: gapEnd, newestAtMs: clock.now() };
      const earliest = cursors.write(scope, afterGap);
      const range = { after: after.position, until: gapEnd };
      const first = await this.lookups.run(holderKey, signal, () => firstChangedBlock(channel, range, signal));
      const gap = { requested: cursor, earliest, fromBlock: Math.min(first, history?.fromBlock ?? first) };
      return { now, resumePoint: afterGap, cursor, gap, announcesLive: true };
    }
    if (fromBlock !== undefined) {
      const beginning = cursors.write(scope, { ...resumePointAfter(0), historyFrom: fromBlock });
      return { now, resumePoint, cursor: beginning, history: { fromBlock }, announcesLive: true };
    }
    return { now, resumePoint, cursor: cursors.write(scope, resumePoint), announcesLive: false };
  }

  /**
   * Sends the history and the changes up to now, then makes the subscription live. If that fails, stops only this
   * subscription.
   */
  private async sendUntilLive(
    subscriber: Subscriber,
    subscription: Subscription,
    { history, announcesLive }: Pick<StartingPosition, 'history' | 'announcesLive'>,
  ): Promise<void> {
    const { id: subscriptionId, channel } = subscription;
    const { feeds, cursors, pieces, clock, metrics, logger } = this.options;
    const feed = feeds[channel.finality];
    let source = history ? 'read_model' : 'memory';
    const runHistory = (send: () => Promise<void>) =>
      this.histories.run(subscriber.holderKey, subscription.signal, async () => {
        await pieces.next();
        await send();
      });
    try {
      if (history) {
        await runHistory(async () => {
          for await (const page of feed.currentRecords(channel, history)) await subscription.sendPage(page);
        });
      }
      const onCaughtUp = () => {
        if (!announcesLive) return;
        metrics.resumes.add({ source });
        const { position } = subscription.resumePoint;
        const cursor = cursors.write(cursorScope(channel), { position, newestAtMs: clock.now() });
        subscriber.emit('live', { subscriptionId, cursor });
      };
      const runReplay = (replay: () => Promise<void>) => {
        // The finalized feed replays from the read model.
        if (source === 'memory') source = channel.finality === 'latest' ? 'bus' : 'read_model';
        return runHistory(replay);
      };
      const onReplayed = (page: Page) => {
        if (source === 'bus') source = page.source ?? source;
      };
      await catchUp(feed, subscription, { runReplay, onReplayed, onCaughtUp });
    } catch (error) {
      if (subscription.isEnded) return;
      logger.error({ err: error, subscriptionId }, 'a subscription failed while it caught up');
      this.stop(subscriber, subscription, refusalOf(error).code);
    }
  }
}
