import { topics } from '../../../schemas/topics.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { resumePointAfter, type ResumePoint } from '../../../shared/keys/stream-cursors.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Channel } from '../domain/channel.ts';
import type { Page } from '../domain/delivery.ts';
import type { ChannelHistory } from '../domain/feed.ts';
import { MessagesDeleted } from './bus-pieces.ts';
import type { BusReplay } from './bus-replay.ts';
import type { ContractStreams } from './contract-streams.ts';

/**
 * Maximum time from the storing of an event to its publication. Messages are deleted by the time of their event, so a
 * resume point without an event is trusted for the retention time less this.
 */
const RELAY_LAG_MAX_MS = 86_400_000;

interface KeptChangesOptions {
  bus: BusReplay;
  streams: ContractStreams;
  eventStore: Pick<EventStore, 'head'>;
  clock: Clock;
}

/**
 * The changes of channels that a node no longer has in memory: from the topic, and those before the first message of the
 * topic from the streams of their contracts.
 *
 *     stream of the contract   1 … 40 | topic   41 … 90 | memory   91 …
 */
export class KeptChanges implements Pick<ChannelHistory, 'replay' | 'gapAfter'> {
  constructor(private readonly options: KeptChangesOptions) {}

  async *replay(channel: Channel, after: Position, signal: AbortSignal): AsyncGenerator<Page> {
    const { bus } = this.options;
    let reached = after;
    for (let lost: MessagesDeleted | undefined; ;) {
      const begun = reached;
      const first = await bus.firstPosition(channel, signal);
      if (first === undefined || first > reached + 1) {
        for await (const page of this.beforeTopic(channel, { after: reached, first, lost }, signal)) {
          reached = page.end.position;
          yield page;
        }
      }
      if (first === undefined) return;
      try {
        for await (const page of bus.changesAfter(channel, reached, signal)) {
          reached = page.end.position;
          yield page;
        }
      } catch (error) {
        if (!(error instanceof MessagesDeleted)) throw error;
        lost = error;
        bus.forgetEnds(channel);
        continue;
      }
      for await (const page of this.upToNow(channel, reached, signal)) {
        reached = page.end.position;
        yield page;
      }
      // Memory reaches back to here by now, unless very many messages were published meanwhile.
      if (reached === begun) return;
    }
  }

  /**
   * A resume point has no gap while the topic has the message of its event, or the stream of the contract has what
   * follows. One with `newestAtMs` has none while no message after that time can have been deleted.
   */
  async gapAfter(
    channel: Channel,
    { position, newestAtMs }: ResumePoint,
    newest: Position,
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    const { bus, streams, clock, eventStore } = this.options;
    const first = await bus.firstPosition(channel, signal);
    if (first !== undefined && first <= position + 1) return undefined;
    const keptFrom = clock.now() - topics.chainEvents.retentionMs + RELAY_LAG_MAX_MS;
    if (newestAtMs !== undefined && newestAtMs > keptFrom) return undefined;
    const until = first === undefined ? await eventStore.head() : first - 1;
    if (await streams.has(channel, { after: position, until }, signal)) return undefined;
    return first === undefined ? Math.max(position, newest, until) : until;
  }

  /** Yields what the topic does not have before its first message. */
  private async *beforeTopic(
    channel: Channel,
    { after, first, lost }: { after: Position; first: Position | undefined; lost: MessagesDeleted | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<Page> {
    const { streams, eventStore } = this.options;
    const until = first === undefined ? await eventStore.head() : first - 1;
    if (await streams.has(channel, { after, until }, signal)) {
      yield* this.stored(channel, { after, until }, signal);
      // Without `lost`, `gapAfter` has shown that there is no gap.
    } else if (lost) throw lost;
    yield { deliveries: [], end: resumePointAfter(Math.max(after, until)) };
  }

  /**
   * Yields what is stored now and was not in the topic at its end. The memory of a node that began to follow an empty partition
   * covers only what is stored after that moment, and the next message, which would end a wait, may never come.
   */
  private async *upToNow(channel: Channel, after: Position, signal: AbortSignal): AsyncGenerator<Page> {
    const until = await this.options.eventStore.head();
    if (until > after) yield* this.stored(channel, { after, until }, signal);
  }

  private async *stored(
    channel: Channel,
    range: { after: Position; until: Position },
    signal: AbortSignal,
  ): AsyncGenerator<Page> {
    for await (const page of this.options.streams.changes(channel, range, signal))
      yield page.deliveries.length > 0 ? { ...page, source: 'event_store' } : page;
  }
}
