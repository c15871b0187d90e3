import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { SignedText } from '../../../../shared/keys/signed-text.ts';

/** What a query with `asOf` asked for, and the position that it stands for. */
export interface AskedAsOf {
  text: string;
  position: Position;
}

export interface TransactionCursor {
  /** Position of the `TxSubmitted` of the last transaction of the page. */
  before: Position;
  /** The state that all pages show; `undefined` for that of now. */
  asOf: AskedAsOf | undefined;
}

/** Cursors of lists of transactions, each valid for one user. */
export class TransactionCursors {
  private readonly signed: SignedText;

  constructor(masterKey: Uint8Array) {
    this.signed = new SignedText(masterKey, 'transaction cursors');
  }

  write(userId: string, { before, asOf }: TransactionCursor): string {
    const parts = asOf ? [before, asOf.position, asOf.text] : [before];
    return this.signed.write(userId, parts.join(' '));
  }

  /**
   * @param asOf of the same request: left out, what the first page was asked for, or the position that it answered
   * @throws Refusal cursor_invalid
   */
  read(userId: string, text: string, asOf: string | undefined): TransactionCursor {
    const payload = this.signed.read(userId, text)?.toString();
    if (payload === undefined) throw new Refusal('cursor_invalid', "the cursor is not of this user's transactions");
    const [before, position, ...asked] = payload.split(' ');
    const first = position === undefined ? undefined : { position: Number(position), text: asked.join(' ') };
    if (asOf !== undefined && asOf !== first?.text && asOf !== position)
      throw new Refusal('cursor_invalid', 'the cursor is from a list as of another time');
    return { before: Number(before), asOf: first };
  }
}
