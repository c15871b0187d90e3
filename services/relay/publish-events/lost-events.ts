import { parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import type { EventStore, Position, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import type { GenuineMessages } from '../../../shared/message-bus/genuine/genuine-messages.ts';
import type { MessageBus, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { readRange } from '../../../shared/message-bus/read-range.ts';
import { keyOf, type TopicName } from './address-event.ts';

/** Events compared at a time. Their ids take some 10 MB; what a topic holds is never held in memory. */
const WINDOW_EVENTS = 100_000;
const EVENTS_PER_READ = 1_000;
/** Lost events per piece. */
const PIECE_EVENTS = 500;

export interface Region {
  topic: TopicName;
  /** The first and the last position. */
  from: Position;
  to: Position;
  /** Unix milliseconds. The topic need not hold earlier events any more. */
  keptSince: number;
}

/** A part of a region that was compared. */
export interface Piece {
  /** Every event up to here was compared. */
  position: Position;
  /** Events compared, and events that are too old to be kept, since the piece before. */
  compared: number;
  tooOld: number;
  /** In position order. */
  lost: StoredEvent[];
}

interface Options {
  eventStore: Pick<EventStore, 'readAll'>;
  messageBus: Pick<MessageBus, 'consume' | 'offsets' | 'partitionOf'>;
  /** Accepts what a relay published, and nothing else. */
  genuine: (topic: Topic) => Pick<GenuineMessages, 'filter'>;
}

interface Window extends Pick<Piece, 'compared' | 'tooOld'> {
  after: Position;
  upTo: Position;
  /** Time of the oldest event. */
  since: number;
  /** Ids of the events whose message was not found yet, by partition; under -1 those that have no key. */
  missing: Map<number, Set<string>>;
}

const NO_PARTITION = -1;

/**
 * Finds the events of a topic whose messages were lost: neither the topic nor its parked topic has a message with the
 * event's id. Compares some events at a time: it reads each partition from the time of the oldest of them on, until all
 * were found. Messages that were published again later are behind the others, so only a loss makes it read to the end.
 */
export class LostEvents {
  constructor(
    private readonly options: Options,
    private readonly windowEvents = WINDOW_EVENTS,
  ) {}

  async *find(region: Region, signal: AbortSignal): AsyncGenerator<Piece> {
    const { messageBus } = this.options;
    // What is published from now on is either later than the region, or published by this replay.
    const ends = await messageBus.offsets(topics[region.topic], 'latest');
    const parkedEnds = await messageBus.offsets(parkedTopics[region.topic], 'latest');
    for (let after = region.from - 1; after < region.to;) {
      const window = await this.windowAfter(after, region, signal);
      await this.findInTopic(window, topics[region.topic], ends, signal);
      await this.findParked(window, parkedTopics[region.topic], parkedEnds, signal);
      yield { position: window.after, compared: window.compared, tooOld: window.tooOld, lost: [] };
      yield* this.lostOf(window, topics[region.topic].events);
      after = window.upTo;
    }
  }

  private async windowAfter(after: Position, region: Region, signal: AbortSignal): Promise<Window> {
    const { eventStore, messageBus } = this.options;
    const topic = topics[region.topic];
    const window: Window = { after, upTo: after, since: Infinity, compared: 0, tooOld: 0, missing: new Map() };
    while (window.upTo < region.to && window.compared < this.windowEvents) {
      signal.throwIfAborted();
      const limit = Math.min(EVENTS_PER_READ, this.windowEvents - window.compared);
      const batch = await eventStore.readAll(window.upTo, { types: topic.events }, limit);
      for (const event of batch.events) {
        if (event.position > region.to) break;
        if (event.time < region.keptSince) {
          window.tooOld += 1;
          continue;
        }
        window.compared += 1;
        window.since = Math.min(window.since, event.time);
        const key = keyOrNone(event);
        const partition = key === undefined ? NO_PARTITION : messageBus.partitionOf(topic, key);
        window.missing.set(partition, (window.missing.get(partition) ?? new Set()).add(event.id));
      }
      window.upTo = batch.caughtUp ? region.to : Math.min(batch.position, region.to);
    }
    return window;
  }

  private async findInTopic(window: Window, topic: Topic, ends: Offsets, signal: AbortSignal): Promise<void> {
    if (window.compared === 0) return;
    const starts = await this.options.messageBus.offsets(topic, window.since);
    for (const [partition, ids] of window.missing) {
      if (partition !== NO_PARTITION) await this.remove([ids], topic, { partition, starts, ends }, signal);
    }
  }

  /** Reads all parked messages: there are few, and those whose time is not valid are not in the order of time. */
  private async findParked(window: Window, topic: Topic, ends: Offsets, signal: AbortSignal): Promise<void> {
    const missing = [...window.missing.values()];
    if (missing.every(({ size }) => size === 0)) return;
    const starts = await this.options.messageBus.offsets(topic, 'earliest');
    for (const partition of ends.keys()) await this.remove(missing, topic, { partition, starts, ends }, signal);
  }

  /** Removes the ids whose messages a partition holds. */
  private async remove(
    missing: readonly Set<string>[],
    topic: Topic,
    { partition, starts, ends }: { partition: number; starts: Offsets; ends: Offsets },
    signal: AbortSignal,
  ): Promise<void> {
    const genuine = this.options.genuine(topic);
    const range = { partition, from: starts.get(partition) ?? '0', until: ends.get(partition) ?? '0' };
    for await (const messages of readRange(this.options.messageBus, topic, range, signal)) {
      for (const { headers } of await genuine.filter(messages)) {
        for (const ids of missing) ids.delete(headers['ce_id'] ?? '');
      }
      if (missing.every(({ size }) => size === 0)) return;
    }
  }

  /** Reads the window's events again instead of keeping them: usually none is lost. */
  private async *lostOf({ after, upTo, missing }: Window, types: readonly string[]): AsyncGenerator<Piece> {
    const ids = new Set([...missing.values()].flatMap((some) => [...some]));
    let lost: StoredEvent[] = [];
    if (ids.size > 0) {
      for await (const event of readEvery(this.options.eventStore, { after, filter: { types } })) {
        if (event.position > upTo) break;
        if (!ids.has(event.id) || lost.push(event) < PIECE_EVENTS) continue;
        yield { position: event.position, compared: 0, tooOld: 0, lost };
        lost = [];
      }
    }
    yield { position: upTo, compared: 0, tooOld: 0, lost };
  }
}

/** An event without a key is published to the parked topic alone. */
const keyOrNone = (event: StoredEvent): string | undefined => {
  try {
    return keyOf(event);
  } catch {
    return undefined;
  }
};
