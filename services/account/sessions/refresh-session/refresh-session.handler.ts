import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { AppEnds } from '../../../../shared/auth/app-ends.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Session } from '../../../../schemas/http/account/account-routes.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { refuseExceeded, type RateLimitStatus } from '../../../../shared/edge/limits/rate-limits.ts';
import { LRUCache } from 'lru-cache';
import { sessionStream } from '../../../../schemas/events/account/session-events.ts';
import { isStarted, refreshSession, sessionFold } from '../domain/session.ts';
import { SessionTokens } from '../session-tokens.jose.ts';
import { atMost } from '../../../../shared/primitives/at-most.ts';

export interface Refreshed {
  session: Session;
  position: Position;
  /** `false` if the previous token was sent, for which the same successor is issued again. */
  rotated: boolean;
}

/** Rotates a verified refresh token. */
export class RefreshSession extends Command<Refreshed> {
  constructor(
    readonly token: { sessionId: string; tokenId: string },
    /** `Idempotency-Key`: a secret of the client, with which it can ask for the same successor for a day. */
    readonly key: string | undefined,
    /** How many rotations of this session are left; the route counts this one. Repeats and a revocation are not limited. */
    readonly rotationLimit: RateLimitStatus | undefined,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/** Maximum rotations whose time is remembered, of the tokens used last. */
const ROTATIONS_MAX = 10_000;

@CommandHandler(RefreshSession)
export class RefreshSessionHandler implements ICommandHandler<RefreshSession> {
  /**
   * When this process issued each refresh token, by elapsed time: setting the clock must not end the session of a
   * client that lost an answer a second ago.
   */
  private readonly issuedAt = new LRUCache<string, number>(atMost(ROTATIONS_MAX));

  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: SessionTokens,
    private readonly apps: AppEnds,
  ) {}

  async execute({ token: { sessionId, tokenId }, key, rotationLimit, metadata }: RefreshSession): Promise<Refreshed> {
    const { ids, clock } = this.transactor;
    await this.requireLiveApp(sessionId);
    const keyHash = key === undefined ? undefined : sha256(`${sessionId}\n${key}`);
    const sinceIssuedMs = (id: string) => {
      const issuedAt = this.issuedAt.get(id);
      return issuedAt === undefined ? undefined : clock.elapsed() - issuedAt;
    };
    const successor = { accessTokenId: ids.token(26), refreshTokenId: ids.token(26) };
    const { state, position, appended } = await this.transactor.transact({
      stream: sessionStream(sessionId),
      fold: sessionFold,
      metadata,
      decide: (session, nowMs) => {
        const events = refreshSession(session, nowMs, { tokenId, successor, keyHash, sinceIssuedMs });
        if (events.some(({ type }) => type === 'SessionRefreshed')) refuseExceeded(rotationLimit);
        return events;
      },
    });
    if (!isStarted(state) || state.isRevoked) {
      throw new Refusal('refresh_token_reused', 'the token was used before, so the session was ended; sign in again');
    }
    if (appended) this.issuedAt.set(state.refreshTokenId, clock.elapsed());
    return { session: await this.tokens.issue(state), position, rotated: appended };
  }

  private async requireLiveApp(sessionId: string): Promise<void> {
    const { state: session } = await this.transactor.load(sessionStream(sessionId), sessionFold);
    if (!isStarted(session) || session.isRevoked || !(await this.apps.isRevoked(session.appId))) return;
    throw new Refusal('app_revoked', 'the app of this session was revoked');
  }
}
