/** A batch ends at this size, measured as the text of its events' data, so that large events do not fill the memory. */
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Tracks how full a batch is. */
export class BatchSize {
  private events = 0;
  private characters = 0;

  constructor(private readonly eventsMax: number) {}

  /** How many more events fit, by their number alone. */
  get room(): number {
    return this.eventsMax - this.events;
  }

  get isFull(): boolean {
    return this.room <= 0 || this.characters >= BATCH_CHARACTERS_MAX;
  }

  add({ dataText }: { readonly dataText: string }): void {
    this.events += 1;
    this.characters += dataText.length;
  }
}
