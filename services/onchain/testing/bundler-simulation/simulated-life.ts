import type { EventStore } from '../../../shared/event-store/event-store.ts';

/** The process was killed: nothing that it does from then on has any effect. */
class Killed extends Error {
  override readonly name = 'Killed';
}

/** How long a process lives. */
export class SimulatedLife {
  private isEnded = false;

  constructor(private readonly isKilledNow: () => boolean) {}

  get isOver(): boolean {
    return this.isEnded;
  }

  end(): void {
    this.isEnded = true;
  }

  /** May be killed here. @throws Killed */
  goOn(): void {
    if (!this.isEnded && this.isKilledNow()) this.end();
    if (this.isEnded) throw new Killed('the process was killed');
  }

  /** A store that the process may be killed before and after each append to. */
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
