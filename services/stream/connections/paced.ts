import { Semaphore } from '../../../shared/primitives/waiting/semaphore.ts';

/** Runs tasks in the order of their arrival, a few at a time, and begins no more than these in a tick. */
export class Paced {
  private readonly places: Semaphore;

  constructor(max: number) {
    this.places = new Semaphore(max);
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (!this.places.tryAcquire()) await this.places.acquire();
    try {
      return await task();
    } finally {
      setImmediate(() => {
        this.places.release();
      });
    }
  }
}
