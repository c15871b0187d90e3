import { invalid } from '../errors/refusal.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import { SignedText } from '../keys/signed-text.ts';
import { inTime } from '../primitives/in-time.ts';

/** An answer does not wait longer for the head of the event store. */
const HEAD_WITHIN_MS = 200;

/**
 * `x-position` and `x-min-position`: a position as clients see it, of whichever service. An answer carries the head of the
 * event store when it is sent, which is not before any position that was answered earlier, by whichever process.
 */
export class PositionHeader {
  private readonly signed: SignedText;
  private reading: Promise<Position> | undefined;
  private next: Promise<Position> | undefined;
  private greatest = 0;

  constructor(
    edgeKey: Uint8Array,
    private readonly eventStore: Pick<EventStore, 'head'>,
  ) {
    this.signed = new SignedText(edgeKey, 'positions');
  }

  write(position: Position): string {
    this.greatest = Math.max(this.greatest, position);
    return this.signed.write('', String(position));
  }

  /** Returns the position for an answer that is sent now; `undefined` when the event store does not tell it. */
  async newest(): Promise<string | undefined> {
    const head = await inTime(() => this.head(), HEAD_WITHIN_MS);
    return head === undefined ? undefined : this.write(Math.max(head, this.greatest));
  }

  /** @throws Refusal validation_failed for anything that no answer carried */
  read(text: string): Position {
    const position = this.tryRead(text);
    if (position !== undefined) return position;
    throw invalid({ path: 'x-min-position', message: 'is not a position that an answer carried' });
  }

  /** Returns `undefined` for anything that no answer carried. */
  tryRead(text: string): Position | undefined {
    const position = this.signed.read('', text);
    return position && Number(position);
  }

  /** Reads the head once for all that ask before the reading begins. */
  private head(): Promise<Position> {
    if (this.reading) return (this.next ??= this.reading.then(this.headAgain, this.headAgain));
    this.reading = this.eventStore.head().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private readonly headAgain = (): Promise<Position> => {
    this.next = undefined;
    return this.head();
  };
}
