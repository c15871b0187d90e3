import { Command } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import type { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

export interface Refreshed {
  session: Session;
  position: Position;
  /** `false`: the same successor again. */
  rotated: boolean;
}

/** Exchanges a verified refresh token for its successor. */
export class RefreshSession extends Command<Refreshed> {
  constructor(
    readonly token: { sessionId: string; tokenId: string },
    /** Thrown instead of a rotation, never instead of a repeat. */
    readonly limited: Refusal | undefined,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}
