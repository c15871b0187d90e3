import { invalid } from '../../errors/refusal.ts';
import type { EventStore, Position } from '../../event-store/event-store.ts';
import { SignedText } from '../../keys/signed-text.ts';
import { inTime } from '../../primitives/waiting/in-time.ts';

/** Maximum wait of an answer for the head of the event store. */
const HEAD_WITHIN_MS = 200;

/**
 * `x-position` and `x-min-position`: a position as clients see it, valid for any service. An answer carries the head of
 * the event store at the time of sending, which is never before a position in an earlier answer of any process.
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

  /** Returns the position for an answer sent now; `undefined` if the event store does not answer in time. */
  async newest(): Promise<string | undefined> {
    const head = await inTime(() => this.head(), HEAD_WITHIN_MS);
    return head === undefined ? undefined : this.write(Math.max(head, this.greatest));
  }

  /** @throws Refusal validation_failed for a text that no answer carried */
  read(text: string): Position {
    const position = this.tryRead(text);
    if (position !== undefined) return position;
    throw invalid({ path: 'x-min-position', message: 'is not a position that an answer carried' });
  }

  /** Returns `undefined` for a text that no answer carried. */
  tryRead(text: string): Position | undefined {
    const position = this.signed.read('', text);
    return position && Number(position);
  }

  /** Reads the head once for all callers that ask before the read starts. */
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
