import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import {
  OutcomeUnknown,
  type Appended,
  type EventStore,
  type EventToAppend,
} from '../../../../shared/event-store/event-store.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { CatcherFaults } from './catcher-faults.ts';
import { overriding } from '../overriding.ts';
import type { SimulatedLife } from './simulated-life.ts';
import type { SimulatedTime } from '../../../../shared/testing/simulation/simulated-time.ts';

type Append = Parameters<EventStore['append']>;

interface World {
  random: SeededRandom;
  time: SimulatedTime;
  faults: CatcherFaults;
}

const LATENCY_MS = 200;
/** The longest time that an append may be in flight. */
const LATE_MS = 20_000;

/** The event store that all processes share. It reports what was stored, in order. */
export class SimulatedStore extends MemoryEventStore {
  /** Number of appends in flight that nobody waits for. */
  late = 0;
  /** Probability that an append gets no answer. */
  losesAnswers = 0;
  private upTo = 0;

  constructor(
    private readonly world: World,
    private readonly stored: (stream: string, events: readonly EventToAppend[], last: Appended) => void,
  ) {
    super(world.time);
  }

  override async append(...given: Append): Promise<Appended> {
    const appended = await super.append(...given);
    // Otherwise it repeats an append that was stored.
    if (appended.position > this.upTo) {
      this.upTo = appended.position;
      this.stored(given[0], given[2], appended);
    }
    return appended;
  }

  /** The store for a process that may be killed. */
  mortal(life: SimulatedLife): EventStore {
    const subscribeAll: EventStore['subscribeAll'] = (...given) => mortal(super.subscribeAll(...given), life);
    const append = async (...given: Append): Promise<Appended> => {
      await life.goOn(() => {
        this.landLate(given);
      });
      const { random, time, faults } = this.world;
      if (random.chance(0.2)) await time.pause(random.between(1, LATENCY_MS));
      if (random.chance(this.losesAnswers)) {
        faults.count('the outcome of an append is unknown');
        if (random.chance(0.5)) await this.append(...given);
        else this.landLate(given);
        throw new OutcomeUnknown('the event store does not answer');
      }
      const appended = await this.append(...given);
      await life.goOn();
      return appended;
    };
    return overriding<EventStore>(life.mortal<EventStore>(this), { append, subscribeAll });
  }

  private landLate(given: Append): void {
    const { random, time, faults } = this.world;
    if (random.chance(0.3)) return;
    this.late += 1;
    time.after(random.between(1, LATE_MS), () => {
      this.late -= 1;
      this.append(...given).then(
        () => {
          faults.count('an append is stored late');
        },
        () => {
          faults.count('an append comes too late');
        },
      );
    });
  }
}

async function* mortal<Item>(items: AsyncIterable<Item>, life: SimulatedLife): AsyncGenerator<Item> {
  for await (const item of items) {
    await life.goOn();
    yield item;
  }
}
