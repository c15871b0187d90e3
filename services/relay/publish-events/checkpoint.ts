import type { Position } from '../../../shared/event-store/event-store.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

/** Name of the relay's checkpoint in the read store. */
export const RELAY_CHECKPOINT = 'relay-v1';

/** What a crash publishes again, at most, is what this time brings. */
const SAVE_EVERY_MS = 100;

/** Saves how far the relay has come beside its work, now and then: the newest position wins. */
export class Checkpoint {
  private saving: Promise<void> | undefined;
  private saved: Position = 0;
  private reached: Position = 0;
  private readonly ending = new AbortController();
  private readonly failing = new AbortController();

  constructor(
    private readonly readStore: Pick<ReadStore, 'position' | 'apply'>,
    private readonly everyMs = SAVE_EVERY_MS,
  ) {}

  /** Aborts with what a save failed with, also when nothing is reached any more. */
  get failed(): AbortSignal {
    return this.failing.signal;
  }

  async load(): Promise<Position> {
    this.saved = this.reached = await this.readStore.position(RELAY_CHECKPOINT);
    return this.saved;
  }

  /** @throws what an earlier save failed with */
  reach(position: Position): void {
    this.failed.throwIfAborted();
    this.reached = position;
    if (position > this.saved) this.saving ??= this.save();
  }

  /** Returns when all that was reached is saved, which is not put off any more. */
  async settle(): Promise<void> {
    this.ending.abort();
    await this.saving;
    this.failed.throwIfAborted();
  }

  private async save(): Promise<void> {
    try {
      while (this.saved < this.reached) {
        const position = this.reached;
        await this.readStore.apply(RELAY_CHECKPOINT, [], position);
        this.saved = position;
        await pause(this.everyMs, this.ending.signal);
      }
    } catch (error) {
      this.failing.abort(error);
    } finally {
      this.saving = undefined;
    }
  }
}
