import { Inject, Injectable } from '@nestjs/common';
import { isoTimeInput } from '../../../schemas/values.ts';
import { invalid, type Refusal } from '../../errors/refusal.ts';
import type { EventStore, Position } from '../../event-store/event-store.ts';
import type { Clock } from '../../primitives/clock.ts';
import { PositionHeader } from '../answers/position-header.ts';
import { CLOCK, EVENT_STORE } from '../tokens.ts';
import { EventTimes } from './event-times.ts';

/** The state that a query with `asOf` shows: that after all events up to a position. */
export interface AsOf {
  position: Position;
  /** Unix milliseconds: the time that was asked for; `undefined` where a position was. */
  time: number | undefined;
}

/** Reads `asOf`: an ISO 8601 date or time, a position, or an x-position. */
@Injectable()
export class AsOfParameter {
  constructor(
    private readonly positions: PositionHeader,
    private readonly times: EventTimes,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws Refusal validation_failed, not_caught_up */
  async read(text: string): Promise<AsOf> {
    if (isoTimeInput.safeParse(text).success) {
      const time = Date.parse(text);
      if (time > this.clock.now()) throw wrong('is in the future');
      return { position: await this.times.lastUpTo(time), time };
    }
    const position = /^\d{1,15}$/.test(text) ? Number(text) : this.positions.tryRead(text);
    if (position === undefined) throw wrong('is neither an ISO 8601 date or time, nor a position, nor an x-position');
    if (position > (await this.eventStore.head()))
      throw wrong(
        'is a position after the newest event; a time is written as ISO 8601 says, such as 2026-11-18T12:00:00Z',
      );
    return { position, time: undefined };
  }

  /** Returns the time that a state is of, in Unix milliseconds: that of its last event, if no time was asked for. */
  async timeOf({ time, position }: AsOf): Promise<number> {
    return time ?? this.times.timeAt(position);
  }
}

const wrong = (message: string): Refusal => invalid({ path: 'asOf', message });
