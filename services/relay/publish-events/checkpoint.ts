import type { EventBatch, Position } from '../../../shared/event-store/event-store.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

/** Name of the relay's checkpoint in the read store. */
export const RELAY_CHECKPOINT = 'relay-v1';

/**
 * After a crash, events published since the last save are published again: about this long, plus the batch in progress.
 */
const SAVE_EVERY_MS = 100;

type Reached = Pick<EventBatch, 'position' | 'newestPermanent'>;

/** Saves the relay's position in the background, at intervals, always the newest position only. */
export class Checkpoint {
  private saving: Promise<void> | undefined;
  private saved: Position = 0;
  private reached: Reached = { position: 0 };
  private readonly ending = new AbortController();
  private readonly failing = new AbortController();

  constructor(
    private readonly readStore: Pick<ReadStore, 'position' | 'apply'>,
    private readonly everyMs = SAVE_EVERY_MS,
  ) {}

  /** Aborts when a save fails, with its error as the reason, so that an idle relay notices too. */
  get failed(): AbortSignal {
    return this.failing.signal;
  }

  async load(): Promise<Position> {
    this.saved = await this.readStore.position(RELAY_CHECKPOINT);
    this.reached = { position: this.saved };
    return this.saved;
  }

  /** @throws the error of an earlier save that failed */
  advance(reached: Reached): void {
    this.failed.throwIfAborted();
    this.reached = reached;
    if (reached.position > this.saved) this.saving ??= this.save();
  }

  /**
   * Saves the newest position at once, and ends the interval. To be called once, at the end.
   * @throws the error of a save that failed
   */
  async flush(): Promise<void> {
    this.ending.abort();
    await this.saving;
    this.failed.throwIfAborted();
  }

  private async save(): Promise<void> {
    try {
      while (this.saved < this.reached.position) {
        const { position, newestPermanent } = this.reached;
        await this.readStore.apply(RELAY_CHECKPOINT, [], position, newestPermanent);
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
