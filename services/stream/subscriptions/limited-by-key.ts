import { untilAborted } from '../../../shared/primitives/until-aborted.ts';

interface Tasks {
  running: number;
  waiting: Set<() => void>;
}

/** Runs so many tasks of each key at a time, in the order in which they came. */
export class LimitedByKey {
  private readonly byKey = new Map<string, Tasks>();

  constructor(private readonly max: number) {}

  /** @throws when the signal aborts before the task begins, and what the task throws */
  async run<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
    await this.begin(key, signal);
    try {
      return await task();
    } finally {
      this.end(key);
    }
  }

  private async begin(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const tasks = this.byKey.get(key) ?? { running: 0, waiting: new Set() };
    this.byKey.set(key, tasks);
    if (tasks.running < this.max) {
      tasks.running += 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const start = () => {
      resolve(undefined);
    };
    tasks.waiting.add(start);
    try {
      await untilAborted(promise, signal);
    } catch (error) {
      if (!tasks.waiting.delete(start)) this.end(key);
      throw error;
    }
  }

  private end(key: string): void {
    const tasks = this.byKey.get(key);
    if (!tasks) return;
    const [next] = tasks.waiting;
    if (next) {
      tasks.waiting.delete(next);
      next();
      return;
    }
    tasks.running -= 1;
    if (tasks.running === 0) this.byKey.delete(key);
  }
}
