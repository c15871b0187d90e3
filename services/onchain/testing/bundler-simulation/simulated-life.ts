import type { EventStore } from '../../../../shared/event-store/event-store.ts';

/** The process was killed: its later actions have no effect. */
class Killed extends Error {
  override readonly name = 'Killed';
}

/** The life of a process, which may end at any call of `goOn`. */
export class SimulatedLife {
  private isEnded = false;

  constructor(private readonly isKilledNow: () => boolean) {}

  get isOver(): boolean {
    return this.isEnded;
  }

  end(): void {
    this.isEnded = true;
  }

  /** A point where the process may be killed. @throws Killed */
  goOn(): void {
    if (!this.isEnded && this.isKilledNow()) this.end();
    if (this.isEnded) throw new Killed('the process was killed');
  }

  /** Returns a store where the process may be killed before and after each append. */
  storeOf(store: EventStore): EventStore {
    const append: EventStore['append'] = async (...parameters) => {
      this.goOn();
      const appended = await store.append(...parameters);
      this.goOn();
      return appended;
    };
    return Object.assign(Object.create(store) as EventStore, { append });
  }
}
