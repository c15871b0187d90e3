import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../errors/refusal.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import { pause } from '../primitives/pause.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { EVENT_STORE, READ_STORE } from './tokens.ts';

/** How long a query waits for a read model to catch up. */
const WAIT_MS = 2_000;
const POLL_MS = 10;

/** Lets queries wait until their read models are as new as the caller requires. */
@Injectable()
export class Projections {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
  ) {}

  /** Returns when a projection has reached `position`. @throws Refusal not_caught_up after 2 s */
  async reached(projection: string, position: Position): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while ((await this.readStore.position(projection)) < position) {
      if (performance.now() > deadline) {
        throw new Refusal('not_caught_up', 'the read model is behind; ask again', { retryAfter: 1 });
      }
      await pause(POLL_MS);
    }
  }

  /**
   * Looks for a document. If there is none, it looks once more when the projection has reached the head at the time of
   * the call, so `undefined` means that the document does not exist, and not that it is not projected yet.
   */
  async find<Found>(projection: string, look: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const head = await this.eventStore.head();
    const found = await look();
    if (found !== undefined) return found;
    await this.reached(projection, head);
    return look();
  }
}
