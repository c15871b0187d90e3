import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../../errors/refusal.ts';
import type { EventStore, Position } from '../../event-store/event-store.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import { EVENT_STORE, READ_STORE } from '../tokens.ts';

/** How long a query waits for a read model to catch up. */
const WAIT_MS = 2_000;
const POLL_MS = 10;

interface Waiter {
  position: Position;
  deadline: number;
  resolve: (reached: undefined) => void;
  reject: (error: unknown) => void;
}

/** Lets queries wait until their read models are as new as the caller requires. */
@Injectable()
export class Projections {
  private readonly waiting = new Map<string, Set<Waiter>>();
  private readonly known = new Map<string, Position>();

  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
  ) {}

  /** Like `reached`, but asks the read store only if the projection is not known to have got that far already. */
  async reachedOnce(projection: string, position: Position): Promise<void> {
    if ((this.known.get(projection) ?? 0) >= position) return;
    await this.reached(projection, position);
    this.known.set(projection, Math.max(position, this.known.get(projection) ?? 0));
  }

  /** Returns when a projection has reached `position`. @throws Refusal not_caught_up after 2 s */
  async reached(projection: string, position: Position): Promise<void> {
    if ((await this.readStore.position(projection)) >= position) return;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const waiter: Waiter = { position, deadline: performance.now() + WAIT_MS, resolve, reject };
    const waiters = this.waiting.get(projection);
    if (waiters) waiters.add(waiter);
    else void this.poll(projection, new Set([waiter]));
    return promise;
  }

  /**
   * Looks for a document. If there is none, looks again once the projection has reached the current head, so
   * `undefined` means that the document does not exist, rather than that it is not projected yet.
   */
  async find<Found>(projection: string, look: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = await look();
    if (found !== undefined) return found;
    await this.reached(projection, await this.eventStore.head());
    return look();
  }

  /** Polls the position of a projection, once for all waiters, until none is left. */
  private async poll(projection: string, waiters: Set<Waiter>): Promise<void> {
    this.waiting.set(projection, waiters);
    while (waiters.size > 0) {
      await pause(POLL_MS);
      await this.answer(projection, waiters);
    }
    this.waiting.delete(projection);
  }

  private async answer(projection: string, waiters: Set<Waiter>): Promise<void> {
    try {
      const position = await this.readStore.position(projection);
      for (const waiter of waiters) {
        if (waiter.position <= position) waiter.resolve(undefined);
        else if (performance.now() > waiter.deadline) waiter.reject(notCaughtUp());
        else continue;
        waiters.delete(waiter);
      }
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error);
      waiters.clear();
    }
  }
}

export const notCaughtUp = (): Refusal =>
  new Refusal('not_caught_up', 'the read model is behind; ask again', { retryAfter: 1 });
