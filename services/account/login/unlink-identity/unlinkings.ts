import { identityStream } from '../../../../schemas/events/account/identity-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { identityFold, releaseIdentity } from '../../users/domain/identity.ts';
import { SessionEnder } from '../../sessions/session-ender.ts';

interface Unlinking {
  userId: string;
  identityId: string;
  /** The claim that was given up. */
  claim: number;
  /** Of its event. */
  position: Position;
}

/** Does what follows from the unlinking of an identity. Each step may be repeated. */
export class Unlinkings {
  private readonly sessions: SessionEnder;

  constructor(private readonly transactor: Transactor) {
    this.sessions = new SessionEnder(transactor);
  }

  /** Releases the identity, and ends the sessions that had begun with it. Returns the position of the last event. */
  async complete({ userId, identityId, claim, position }: Unlinking, metadata: EventMetadata): Promise<Position> {
    await this.transactor.transact({
      stream: identityStream(identityId),
      fold: identityFold,
      metadata,
      decide: (holder) => releaseIdentity(holder, { identityId, claim }),
    });
    const end = { userId, reason: 'identity_unlinked' as const };
    const isMeant = (begun: { identityId: string; position: Position }) =>
      begun.identityId === identityId && begun.position < position;
    return Math.max(position, await this.sessions.endAll(end, metadata, isMeant));
  }
}
