import { identityStream } from '../../../schemas/events/identity-events.ts';
import { sessionStream } from '../../../schemas/events/session-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { type ProfileChanges, userStream } from '../../../schemas/events/user-events.ts';
import type { Session } from '../../../schemas/http/account-routes.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor, Transacted } from '../../../shared/event-store/transact.ts';
import {
  claimIdentity,
  identityFold,
  releaseIdentity,
  type Identity,
  type IdentityHolder,
} from '../domain/identity.ts';
import type { SmartAccount } from '../domain/smart-account.ts';
import { isStarted, sessionFold, startSession } from '../domain/session.ts';
import { isErased, isVoid, logIn, userFold, userIdFrom, type User } from '../domain/user.ts';
import type { SessionTokens } from './session-tokens.jose.ts';
import type { Apps } from './apps.ts';
import type { SmartAccounts } from './smart-accounts.ts';

/** How old the login of a session may be that links, unlinks or erases. */
const RECENT_MS = 5 * 60_000;
const DEVICE_CHARACTERS_MAX = 200;

export interface LoggedIn {
  session: Session;
  sessionId: string;
  position: Position;
}

/** What was recorded when a challenge, password, code or state was used up: who repeats it completes the same login. */
export interface Redemption {
  sessionId: string;
  /** The id of that event. */
  eventId: string;
  /** The user to whom the identity is linked; absent of a plain login. */
  linkTo?: string;
}

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
  /** The refusal of a login that was completed before. */
  used: () => Refusal;
}

/**
 * Completes the logins of all methods. After its redemption a login appends to three streams in this order: identity, user,
 * session. Each append holds what the next step needs, and a repeated step appends nothing. So a repeat completes a login
 * that a crash interrupted; once its session has started, it is refused.
 */
export class Logins {
  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: SessionTokens,
    private readonly accounts: SmartAccounts,
    private readonly apps: Pick<Apps, 'requireTrusted'>,
  ) {}

  /**
   * Returns the user to whom a login is to link one of these identities: that of the bearer token. It is a plain login
   * without one, and if the identity is that user's already.
   * @param identities those that the login may prove; none where it is not known yet
   * @throws Refusal forbidden, login_too_old
   */
  async linkTarget(user: UserCaller | undefined, identities: readonly Identity[]): Promise<string | undefined> {
    if (!user) return undefined;
    for (const identity of identities) {
      const { identityId } = await this.asHeld(identity);
      const holder = await this.holderOf(identityId);
      if (holder.userId === user.userId && !(await this.isVoid(identityId, holder))) return undefined;
    }
    await this.requireMayChangeLogins(user);
    return user.userId;
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

  /** @throws Refusal identity_taken, user_erased, session_revoked, and `used` */
  async complete(login: Login, appMetadata: EventMetadata): Promise<LoggedIn> {
    const { redemption, appId, device, used } = login;
    const { sessionId } = redemption;
    const identity = await this.asHeld(login.identity);
    const { userId, user } = await this.enter({ ...login, identity }, appMetadata);
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
      decide: (state) => startSession(state, start, used),
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
  private async missingAccounts(userId: string): Promise<SmartAccount[]> {
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

  /** Returns the identity under its former id where somebody holds it by that one. */
  private async asHeld(identity: Identity): Promise<Identity> {
    const { identityId, formerId } = identity;
    if (formerId === undefined || (await this.holderOf(identityId)).userId !== undefined) return identity;
    return (await this.holderOf(formerId)).userId === undefined ? identity : { ...identity, identityId: formerId };
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
