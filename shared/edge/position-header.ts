import { Inject, Injectable } from '@nestjs/common';
import { invalid } from '../errors/refusal.ts';
import type { Position } from '../event-store/event-store.ts';
import { SignedText } from '../keys/signed-text.ts';
import { MASTER_KEY } from './tokens.ts';

/** `x-position` and `x-min-position`: a position as clients see it, of whichever service. */
@Injectable()
export class PositionHeader {
  private readonly signed: SignedText;

  constructor(@Inject(MASTER_KEY) masterKey: Uint8Array) {
    this.signed = new SignedText(masterKey, 'positions');
  }

  write(position: Position): string {
    return this.signed.write('', String(position));
  }

  /** @throws Refusal validation_failed for anything that no answer carried */
  read(text: string): Position {
    const position = this.signed.read('', text);
    if (position) return Number(position);
    throw invalid({ path: 'x-min-position', message: 'is not a position that an answer carried' });
  }
}
