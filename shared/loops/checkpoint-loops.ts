import type { EventStore, Position } from '../event-store/event-store.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import { CatchUpTracker } from './catch-up-tracker.ts';
import { Loops } from './loops.ts';
import type { LoopState, SupervisedLoop } from './supervised-loop.ts';

/** A loop that follows the event store to a checkpoint in the read store. */
export interface CheckpointLoop {
  checkpoint: string;
  loop: SupervisedLoop;
}

/** Position of a checkpoint, which is the same in every process, and the state of this process's loop for it. */
export interface CheckpointProgress {
  checkpoint: string;
  position: Position;
  /** The head of the event store. */
  head: Position;
  state: LoopState;
}

interface CheckpointLoopsOptions {
  /** Loops that start and stop with these, and follow nothing. */
  others?: readonly SupervisedLoop[];
  /** A monotonic clock in milliseconds. */
  now?: () => number;
}

/** Loops that follow the event store, and the progress of each. */
export class CheckpointLoops {
  private readonly now: () => number;
  private readonly loops: Loops;
  private readonly trackers = new Map<string, CatchUpTracker<Position>>();

  constructor(
    private readonly checkpoints: readonly CheckpointLoop[],
    private readonly eventStore: Pick<EventStore, 'head'>,
    private readonly readStore: Pick<ReadStore, 'position'>,
    { others = [], now = () => performance.now() }: CheckpointLoopsOptions = {},
  ) {
    this.now = now;
    this.loops = new Loops([...checkpoints.map(({ loop }) => loop), ...others]);
  }

  /** Ready when each loop runs and is caught up, or runs in another process. */
  readonly readiness = {
    working: () => this.loops.areWorking,
    caughtUp: () => this.areCaughtUp(),
  };

  start(): void {
    this.loops.start();
  }

  stop(): Promise<void> {
    return this.loops.stop();
  }

  async progress(): Promise<CheckpointProgress[]> {
    const head = await this.eventStore.head();
    const each = this.checkpoints.map(async ({ checkpoint, loop }) => {
      const position = await this.readStore.position(checkpoint);
      return { checkpoint, position, head, state: loop.state };
    });
    return Promise.all(each);
  }

  private async areCaughtUp(): Promise<boolean> {
    const askedAtMs = this.now();
    const answers = (await this.progress()).map((progress) => this.isCaughtUp(progress, askedAtMs));
    return answers.every(Boolean);
  }

  private isCaughtUp({ checkpoint, position, head, state }: CheckpointProgress, askedAtMs: number): boolean {
    if (state === 'standby') {
      this.trackers.delete(checkpoint);
      return true;
    }
    const tracker = this.trackers.get(checkpoint) ?? new CatchUpTracker();
    this.trackers.set(checkpoint, tracker);
    tracker.headWas(head, askedAtMs);
    return tracker.isCaughtUp((goal) => position >= goal, this.now());
  }
}
