import type { Position } from '../../../shared/event-store/event-store.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

/** Name of the relay's checkpoint in the read store. */
export const RELAY_CHECKPOINT = 'relay-v1';

/** Saves how far the relay has come beside its work, one write at a time: the newest position wins. */
export class Checkpoint {
  private saving: Promise<void> | undefined;
  private failure: { error: unknown } | undefined;
  private saved: Position = 0;
  private reached: Position = 0;

  constructor(private readonly readStore: Pick<ReadStore, 'position' | 'apply'>) {}

  async load(): Promise<Position> {
    this.saved = this.reached = await this.readStore.position(RELAY_CHECKPOINT);
    return this.saved;
  }

  /** @throws what an earlier save failed with */
  reach(position: Position): void {
    this.throwFailure();
    this.reached = position;
    if (position > this.saved) this.saving ??= this.save();
  }

  /** Returns when all that was reached is saved. */
  async settle(): Promise<void> {
    await this.saving;
    this.throwFailure();
  }

  private async save(): Promise<void> {
    try {
      while (this.saved < this.reached) {
        const position = this.reached;
        await this.readStore.apply(RELAY_CHECKPOINT, [], position);
        this.saved = position;
      }
    } catch (error) {
      this.failure = { error };
    } finally {
      this.saving = undefined;
    }
  }

  private throwFailure(): void {
    if (this.failure) throw this.failure.error;
  }
}
