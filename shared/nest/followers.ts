import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { LoopState, SupervisedLoop } from '../loops/supervised-loop.ts';
import type { ReadStore } from '../read-store/read-store.ts';
import type { Readiness } from './health.ts';

/** Who is further behind than this is not caught up. */
const BEHIND_MAX_MS = 10_000;

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
  private readonly catchUps = new Map<string, CatchUp>();

  constructor(
    private readonly followers: readonly Follower[],
    private readonly eventStore: Pick<EventStore, 'head'>,
    private readonly readStore: Pick<ReadStore, 'position'>,
    /** Milliseconds that never go back. */
    private readonly now: () => number = () => performance.now(),
  ) {
    for (const { checkpoint } of followers) this.catchUps.set(checkpoint, new CatchUp());
  }

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
    const judgements = (await this.progress()).map((progress) =>
      this.catchUps.get(progress.checkpoint)?.judge(progress, this.now()),
    );
    return judgements.every(Boolean);
  }
}

/** The head moves on while it is followed, so a checkpoint is compared with where the head was when last asked. */
class CatchUp {
  private goal: Position | undefined;
  private reachedAtMs: number | undefined;

  judge({ head, position, state }: CheckpointProgress, nowMs: number): boolean {
    if (state === 'standby') {
      this.goal = this.reachedAtMs = undefined;
      return true;
    }
    this.goal ??= head;
    if (position < this.goal) return this.reachedAtMs !== undefined && nowMs - this.reachedAtMs < BEHIND_MAX_MS;
    this.goal = head;
    this.reachedAtMs = nowMs;
    return true;
  }
}
