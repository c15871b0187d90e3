import { identityStream } from '../../../schemas/events/account/identity-events.ts';
import { sessionStream } from '../../../schemas/events/account/session-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { type AssignedAccount, type ProfileChanges, userStream } from '../../../schemas/events/account/user-events.ts';
import type { Session } from '../../../schemas/http/account/account-routes.ts';
import type { AppCaller, UserCaller } from '../../../shared/auth/caller.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor, Transacted } from '../../../shared/event-store/transactions/transact.ts';
import {
  claimIdentity,
  identityFold,
  releaseIdentity,
  type Identity,
  type IdentityHolder,
} from '../users/domain/identity.ts';
import { isStarted, sessionFold, startSession } from '../sessions/domain/session.ts';
import { isErased, isVoid, logIn, userFold, userIdFrom, type User } from '../users/domain/user.ts';
import type { SessionTokens } from '../sessions/session-tokens.jose.ts';
import type { Apps } from '../../../shared/auth/apps.ts';
import type { Redemption, Wish } from './redemption.ts';

/** How old the login of a session may be that links, unlinks or erases. */
const RECENT_MS = 5 * 60_000;
const DEVICE_CHARACTERS_MAX = 200;

/** Who logs in: at which app, and with whose bearer token, if there is one. */
export type LoginCaller = Pick<AppCaller, 'appId' | 'origin' | 'user'>;

export interface LoginRequest extends LoginCaller {
  /** The header `user-agent`. */
  device: string | undefined;
}

export interface LoggedIn {
  session: Session;
  sessionId: string;
  position: Position;
}

/** Returns the answer over HTTP to a login. */
export const loginAnswer = ({ session: body, sessionId, position }: LoggedIn) => ({ body, sessionId, position });

export interface Login {
  identity: Identity;
  redemption: Redemption;
  appId: string;
  /** The header `user-agent`. */
  device: string | undefined;
  /** The id of a new user, unless some user had it before; without it one is made. */
  userId?: string;
  /** What the method knows of the user: it fills members of the profile that are empty. */
  profile?: ProfileChanges;
  /** What the app said of it. */
  domainId?: number;
}

/** Assigns smart accounts to users: they have them from their first login on, and no chain is asked. */
export interface AccountAssignment {
  /** Returns the accounts of a user on those chains where the user has none yet. @throws Refusal user_erased */
  missing: (userId: string, known: readonly AssignedAccount[]) => Promise<AssignedAccount[]>;
}

/**
 * Completes the logins of all methods, by one append to each of four streams:
 *
 *     redemption   the challenge, password, code or state is used up      fixes the session's id
 *         │
 *         ▼
 *     identity     claimed for a new user, if nobody holds it             fixes the user's id
 *         │
 *         ▼
 *     user         UserRegistered, SmartAccountAssigned, IdentityLinked,
 *         │        UserLoggedIn: those that are new
 *         ▼
 *     session      SessionStarted                                         a repeat is refused from here on
 *
 * Each append holds what the next one needs, and a repeated step appends nothing. So a repeated request completes a login
 * that a crash interrupted between two of them.
 */
export class Logins {
  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: SessionTokens,
    private readonly accounts: AccountAssignment,
    private readonly apps: Pick<Apps, 'requireTrusted'>,
  ) {}

  /**
   * Returns what a login with one of these identities wants: with a bearer token, to link the identity to that user. It is a
   * plain login without a token, and if the identity is that user's already.
   * @param identities those that the login may prove; none where it is not known yet
   * @throws Refusal forbidden, login_too_old
   */
  async wish(user: UserCaller | undefined, identities: readonly Identity[]): Promise<Wish> {
    if (!user) return {};
    const { userId } = user;
    for (const { identityId } of identities) {
      if ((await this.userOf(identityId)) === userId) return { userId };
    }
    await this.requireMayChangeLogins(user);
    return { userId, linkTo: userId };
  }

  /** Returns the user whom an identity logs in; `undefined` if nobody has it, or it was given up. */
  async userOf(identityId: string): Promise<string | undefined> {
    const holder = await this.holderOf(identityId);
    return holder.userId === undefined || (await this.isVoid(identityId, holder)) ? undefined : holder.userId;
  }

  /** To link, unlink and erase. @throws Refusal forbidden; login_too_old: a refresh is no login */
  async requireMayChangeLogins({ sessionId, appId }: UserCaller): Promise<void> {
    await this.apps.requireTrusted(appId);
    const { state: session } = await this.transactor.load(sessionStream(sessionId), sessionFold);
    if (isStarted(session) && this.transactor.clock.now() - session.startedAt <= RECENT_MS) return;
    throw new Refusal('login_too_old', 'log in again: this needs a login of the last 5 minutes');
  }

  /** When a login that links comes back from another site: its age was looked at when it began. @throws Refusal forbidden */
  async requireStillTrusted(user: UserCaller | undefined): Promise<void> {
    if (user) await this.apps.requireTrusted(user.appId);
  }

  /** @throws Refusal identity_taken, user_erased, session_revoked, and `used` of the redemption */
  async complete(login: Login, appMetadata: EventMetadata): Promise<LoggedIn> {
    const { identity, redemption, appId, device } = login;
    const { sessionId } = redemption;
    const { userId, user } = await this.enter(login, appMetadata);
    const recorded = user.state.logins.find((one) => one.sessionId === sessionId);
    if (!recorded) throw new Error('the recorded login is missing from the user');
    const start = {
      sessionId,
      userId,
      appId,
      method: identity.method,
      identityId: identity.identityId,
      device: device?.slice(0, DEVICE_CHARACTERS_MAX) ?? null,
      accessTokenId: this.transactor.ids.token(26),
      refreshTokenId: this.transactor.ids.token(26),
    };
    const { state: session, position } = await this.transactor.transact({
      stream: sessionStream(sessionId),
      fold: sessionFold,
      metadata: { ...byUser(appMetadata, userId, sessionId), causationId: recorded.eventId },
      decide: (state) => startSession(state, start, redemption.used),
    });
    if (!isStarted(session)) throw new Error('the session that was started is missing');
    return { session: await this.tokens.issue(session), sessionId, position };
  }

  /** Claims the identity, and records the login in the stream of its user. */
  private async enter(login: Login, metadata: EventMetadata): Promise<{ userId: string; user: Transacted<User> }> {
    const { identity, redemption, appId, profile, domainId } = login;
    const { identityId } = identity;
    const { sessionId, eventId: causationId, linkTo } = redemption;
    for (;;) {
      const { userId, claim } = await this.claim(login, { ...metadata, causationId });
      if (linkTo !== undefined && userId !== linkTo && !(await this.isVoid(identityId, { userId, claims: claim }))) {
        throw new Refusal('identity_taken', 'it logs in another user: log in as that user and unlink it there first');
      }
      const smartAccounts = await this.missingAccounts(userId);
      const user = await this.transactor.transact({
        stream: userStream(userId),
        fold: userFold,
        metadata: { ...byUser(metadata, userId, sessionId), causationId },
        decide: (before) => {
          if (isErased(before) && userId === linkTo) throw new Refusal('user_erased', 'this user was erased');
          return isVoid(before, identityId, claim)
            ? []
            : logIn(before, { ...identity, userId, appId, sessionId, profile, domainId, smartAccounts });
        },
      });
      if (!isVoid(user.before, identityId, claim)) return { userId, user };
      await this.transactor.transact({
        stream: identityStream(identityId),
        fold: identityFold,
        metadata: { ...metadata, causationId },
        decide: (holder) => releaseIdentity(holder, { identityId, claim }),
      });
    }
  }

  /** Returns the accounts that a user has not been assigned yet. */
  private async missingAccounts(userId: string): Promise<AssignedAccount[]> {
    const { state: user } = await this.transactor.load(userStream(userId), userFold);
    return isErased(user) ? [] : this.accounts.missing(userId, user.entity?.smartAccounts ?? []);
  }

  /** Returns who holds the identity: the user who did before, or else the one to whom it is given now. */
  private async claim(
    { identity, redemption: { linkTo }, userId: wantedId }: Login,
    metadata: EventMetadata,
  ): Promise<{ userId: string; claim: number }> {
    const held = await this.holderOf(identity.identityId);
    if (held.userId !== undefined) return { userId: held.userId, claim: held.claims };
    const userId = linkTo ?? (await this.newUserId(wantedId));
    const { state } = await this.transactor.transact({
      stream: identityStream(identity.identityId),
      fold: identityFold,
      metadata,
      decide: (holder) => claimIdentity(holder, { ...identity, userId }),
    });
    return { userId: state.userId ?? userId, claim: state.claims };
  }

  private async holderOf(identityId: string): Promise<IdentityHolder> {
    return (await this.transactor.load(identityStream(identityId), identityFold)).state;
  }

  private async newUserId(wanted: string | undefined): Promise<string> {
    const { store, ids } = this.transactor;
    const isFree = wanted !== undefined && (await store.read(userStream(wanted), { limit: 1 })).length === 0;
    return isFree ? wanted : userIdFrom(ids.token(26));
  }

  private async isVoid(identityId: string, { userId = '', claims }: IdentityHolder): Promise<boolean> {
    const { state } = await this.transactor.load(userStream(userId), userFold);
    return isVoid(state, identityId, claims);
  }
}

const byUser = (metadata: EventMetadata, id: string, session: string): EventMetadata => ({
  ...metadata,
  actor: { type: 'user', id },
  session,
});
