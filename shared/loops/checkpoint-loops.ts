import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { LoopState, SupervisedLoop } from './supervised-loop.ts';
import { Pace } from './catch-up-tracker.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import type { Readiness } from '../host/health.ts';

/** A loop that follows the event store to a checkpoint in the read store. */
export interface Follower {
  checkpoint: string;
  loop: SupervisedLoop;
}

/** How far a checkpoint is, which is the same in every process, and who this process is to it. */
export interface CheckpointProgress {
  checkpoint: string;
  position: Position;
  /** Of the event store. */
  head: Position;
  state: LoopState;
}

/** What a worker does: runs with its application, and is ready when it works and is caught up, or stands by. */
export class Followers implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly paces = new Map<string, Pace<Position>>();

  constructor(
    private readonly followers: readonly Follower[],
    private readonly eventStore: Pick<EventStore, 'head'>,
    private readonly readStore: Pick<ReadStore, 'position'>,
    /** Milliseconds that never go back. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  readonly readiness: Readiness = {
    working: () => this.followers.every(({ loop: { state } }) => state === 'running' || state === 'standby'),
    caughtUp: () => this.areCaughtUp(),
  };

  onApplicationBootstrap(): void {
    for (const { loop } of this.followers) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.followers.map(({ loop }) => loop.stop()));
  }

  async progress(): Promise<CheckpointProgress[]> {
    const head = await this.eventStore.head();
    const each = this.followers.map(async ({ checkpoint, loop }) => {
      const position = await this.readStore.position(checkpoint);
      return { checkpoint, position, head, state: loop.state };
    });
    return Promise.all(each);
  }

  private async areCaughtUp(): Promise<boolean> {
    const askedAtMs = this.now();
    const judgements = (await this.progress()).map((progress) => this.isCaughtUp(progress, askedAtMs));
    return judgements.every(Boolean);
  }

  private isCaughtUp({ checkpoint, position, head, state }: CheckpointProgress, askedAtMs: number): boolean {
    if (state === 'standby') {
      this.paces.delete(checkpoint);
      return true;
    }
    const pace = this.paces.get(checkpoint) ?? new Pace();
    this.paces.set(checkpoint, pace);
    pace.headWas(head, askedAtMs);
    return pace.isCaughtUp((goal) => position >= goal, this.now());
  }
}
