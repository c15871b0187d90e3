import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { refuseExceeded, type RateLimitStatus } from '../../../shared/edge/rate-limits.ts';
import { refreshSession, sessionFold, sessionStream } from '../domain/session.ts';
import { SessionTokens } from '../edge/session-tokens.jose.ts';

export interface Refreshed {
  session: Session;
  position: Position;
  /** `false` when the previous token was sent, for which the same successor is issued again. */
  rotated: boolean;
}

/** Rotates a verified refresh token. */
export class RefreshSession extends Command<Refreshed> {
  constructor(
    readonly token: { sessionId: string; tokenId: string },
    /** How many rotations of this session are left; the route counts this one. Repeats and a revocation are not limited. */
    readonly rotationLimit: RateLimitStatus | undefined,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(RefreshSession)
export class RefreshSessionHandler implements ICommandHandler<RefreshSession> {
  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: SessionTokens,
  ) {}

  async execute({ token: { sessionId, tokenId }, rotationLimit, metadata }: RefreshSession): Promise<Refreshed> {
    const { ids } = this.transactor;
    const successor = { accessTokenId: ids.token(26), refreshTokenId: ids.token(26) };
    const { state, position, appended } = await this.transactor.transact({
      stream: sessionStream(sessionId),
      fold: sessionFold,
      metadata,
      decide: (session, nowMs) => {
        const events = refreshSession(session, nowMs, { tokenId, successor });
        if (events.some(({ type }) => type === 'SessionRefreshed')) refuseExceeded(rotationLimit);
        return events;
      },
    });
    if (!state || state.isRevoked) {
      throw new Refusal('refresh_token_reused', 'the token was used before, so the session was ended; sign in again');
    }
    return { session: await this.tokens.issue(state), position, rotated: appended };
  }
}
