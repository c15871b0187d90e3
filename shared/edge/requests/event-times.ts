import type { EventStore, Position, StoredEvent } from '../../event-store/event-store.ts';
import { readEvery } from '../../event-store/read-every.ts';
import { CLOCKS_DIFFER_MS } from '../../primitives/clock.ts';
import { logPlaces } from '../../read-models/transparency-log.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import { notCaughtUp } from '../answers/projections.ts';

const PIECE_EVENTS = 100;
/** Far more events than lie between two places, unless the transparency log is being built. */
const PASSED_EVENTS_MAX = 100_000;

interface EventTimesOptions {
  eventStore: Pick<EventStore, 'readAll'>;
  readStore: Pick<ReadStore, 'find' | 'getMany'>;
}

/**
 * Finds the position of a time, and the time of a position. Neither reads more than a few hundred events, however many
 * there are: the transparency log keeps the position of every 256th lasting event, and these are bisected.
 * EventStoreDB can be read from an event's position, not from any number between.
 */
export class EventTimes {
  constructor(private readonly stores: EventTimesOptions) {}

  /** Returns the last position whose event is not later than a time; 0 if there is none. @throws Refusal not_caught_up */
  async lastUpTo(time: number): Promise<Position> {
    let last = 0;
    for await (const event of this.eventsFrom(await this.placeBefore(time))) {
      if (event.time > time + CLOCKS_DIFFER_MS) break;
      if (event.time <= time) last = event.position;
    }
    return last;
  }

  /** Returns the time of the last event up to a position, in Unix milliseconds. @throws Refusal not_caught_up */
  async timeAt(position: Position): Promise<number> {
    const [place] = await this.stores.readStore.find(logPlaces.name, {
      filter: { from: { lte: position } },
      sort: [['from', 'desc']],
      limit: 1,
    });
    let time = 0;
    for await (const event of this.eventsFrom(place ? Number(place.document['from']) : 0)) {
      if (event.position > position) break;
      ({ time } = event);
    }
    return time;
  }

  /** Returns the last place whose event is not later than a time; 0 if there is none. */
  private async placeBefore(time: number): Promise<Position> {
    const { readStore } = this.stores;
    const [newest] = await readStore.find(logPlaces.name, { sort: [['from', 'desc']], limit: 1 });
    let [low, high] = [-1, newest ? Number(newest.id) + 1 : 0];
    let before = 0;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      const id = String(middle);
      const from = Number((await readStore.getMany(logPlaces.name, [id])).get(id)?.document['from'] ?? 0);
      const [event] = (await this.stores.eventStore.readAll(justBefore(from), undefined, 1)).events;
      if (event && event.time <= time) [low, before] = [middle, from];
      else high = middle;
    }
    return before;
  }

  /** Yields the event of a place, and all after it. */
  private async *eventsFrom(place: Position): AsyncGenerator<StoredEvent> {
    let passed = 0;
    for await (const event of readEvery(this.stores.eventStore, { after: justBefore(place), atOnce: PIECE_EVENTS })) {
      yield event;
      passed += 1;
      if (passed > PASSED_EVENTS_MAX) throw notCaughtUp();
    }
  }
}

const justBefore = (place: Position): Position => Math.max(0, place - 1);
