import type { EventBatch, StoredEvent } from '../../../shared/event-store/event-store.ts';

const PIECE_CHARACTERS_MAX = 4_000_000;

type Piece = Pick<EventBatch, 'events' | 'position'>;

/** Cuts a batch where it gets large: after each piece there is a position to go on from, however large events are. */
export function* piecesOf({ events, position }: Piece): Generator<Piece> {
  let piece: StoredEvent[] = [];
  let characters = 0;
  for (const event of events) {
    const last = piece.at(-1);
    if (last && characters + event.dataText.length > PIECE_CHARACTERS_MAX) {
      yield { events: piece, position: last.position };
      piece = [];
      characters = 0;
    }
    piece.push(event);
    characters += event.dataText.length;
  }
  yield { events: piece, position };
}
