import type {
  AssignedAccount,
  MessengerChanges,
  ProfileChanges,
  UserEvent,
} from '../../../../schemas/events/account/user-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { evolveUser, type UserDocument } from '../../../../shared/read-models/account/users.ts';
import type { Identity } from './identity.ts';

export const userIdFrom = (token26: string): string => `usr_${token26}`;

/** An interrupted login can be completed only while its challenge is valid, and fewer logins than this fit into that time. */
const LOGINS_REMEMBERED = 64;

export interface User {
  entity: UserDocument | undefined;
  /** By identity, its newest claim that was unlinked: this claim and those before it are void. */
  unlinked: Readonly<Record<string, number>>;
  /** The newest logins, oldest first, each with the id of its event. */
  logins: readonly { sessionId: string; eventId: string }[];
}

export const userFold = {
  initial: { entity: undefined, unlinked: {}, logins: [] } as User,
  evolve: ({ entity, logins, unlinked }: User, event: UserEvent, time: number, eventId: string): User => {
    const { type, data } = event;
    return {
      entity: evolveUser(entity, event, { time, revision: entity ? entity.revision + 1 : 0 }),
      unlinked: type === 'IdentityUnlinked' ? { ...unlinked, [data.identityId]: data.claim } : unlinked,
      logins:
        type === 'UserLoggedIn'
          ? [...logins, { sessionId: data.sessionId, eventId }].slice(-LOGINS_REMEMBERED)
          : logins,
    };
  },
};

export const isErased = ({ entity }: User): boolean => typeof entity?.erasedAt === 'string';

/** Whether a claim of an identity is void: it only waits to be released. */
export const isVoid = (user: User, identityId: string, claim: number): boolean =>
  isErased(user) || claim <= (user.unlinked[identityId] ?? 0);

interface UserLogin extends Identity {
  userId: string;
  appId: string;
  sessionId: string;
  /** What the login method knows about the user: fills empty members of the profile. */
  profile?: ProfileChanges | undefined;
  /** As stated by the app. */
  domainId?: number | undefined;
  /** On every chain. */
  smartAccounts?: readonly AssignedAccount[];
}

/**
 * Records a login once per session. The first login registers the user, the first with an identity links that identity,
 * and the first since a chain was configured assigns the account there.
 */
export const logIn = (
  user: User,
  { userId, appId, sessionId, profile = {}, domainId, identityId, method, label, smartAccounts = [] }: UserLogin,
): UserEvent[] => {
  const { entity, logins } = user;
  const said = domainId === undefined ? {} : { domainId };
  const isLinked = entity?.identities.some(({ id }) => id === identityId);
  return [
    ...(entity ? [] : [{ type: 'UserRegistered' as const, data: { userId } }]),
    ...smartAccounts
      .filter(({ chainId }) => !entity?.smartAccounts.some((known) => known.chainId === chainId))
      .map((account) => ({ type: 'SmartAccountAssigned' as const, data: { userId, ...account } })),
    ...(isLinked ? [] : [{ type: 'IdentityLinked' as const, data: { userId, identityId, method, label } }]),
    ...(logins.some((login) => login.sessionId === sessionId)
      ? []
      : [
          { type: 'UserLoggedIn' as const, data: { userId, identityId, method, appId, sessionId, ...said } },
          ...profileChange(user, userId, onlyEmpty(entity, profile)),
        ]),
  ];
};

const onlyEmpty = (entity: UserDocument | undefined, profile: ProfileChanges): ProfileChanges =>
  Object.fromEntries(
    Object.entries(profile).filter(
      ([member, value]) => value !== null && (entity?.[member as keyof ProfileChanges] ?? null) === null,
    ),
  );

/**
 * Unlinks an identity, but never the last one. An identity that was unlinked before stays unlinked.
 * @param claim the claim of the identity that its user holds; 0 if none. A claim that was given up before, by a user
 * who has linked the identity again since, decides nothing: call again with the newest claim.
 */
export const unlinkIdentity = (
  { entity, unlinked }: User,
  { userId, identityId, claim }: { userId: string; identityId: string; claim: number },
): UserEvent[] => {
  const identities = entity?.identities ?? [];
  const identity = identities.find(({ id }) => id === identityId);
  if (!identity) {
    if (Object.hasOwn(unlinked, identityId)) return [];
    throw new Refusal('identity_not_found', 'this user has no identity with this id');
  }
  if (identities.length === 1) throw new Refusal('last_identity', 'link another one first');
  if (claim <= (unlinked[identityId] ?? 0)) return [];
  return [{ type: 'IdentityUnlinked', data: { userId, identityId, method: identity.method, claim } }];
};

/** Erases a user once. @throws Refusal user_not_found */
export const eraseUser = (user: User, userId: string): UserEvent[] => {
  existing(user);
  return isErased(user) ? [] : [{ type: 'UserErased', data: { userId } }];
};

/** Records only the members of a messenger that differ from the user's. @throws Refusal user_not_found, user_erased */
export const updateMessenger = (user: User, userId: string, update: MessengerChanges): UserEvent[] => {
  existing(user);
  const changes = changedMembers(user, update);
  return Object.keys(changes).length === 0 ? [] : [{ type: 'MessengerUpdated', data: { userId, changes } }];
};

/** Records only the members that differ from the current profile. @throws Refusal user_not_found, user_erased */
export const updateProfile = (user: User, userId: string, update: ProfileChanges): UserEvent[] => {
  existing(user);
  return profileChange(user, userId, update);
};

/** @throws Refusal user_not_found */
export const existing = ({ entity }: User): UserDocument => {
  if (!entity) throw new Refusal('user_not_found', 'no user has this id');
  return entity;
};

const profileChange = (user: User, userId: string, update: ProfileChanges): UserEvent[] => {
  const changes = changedMembers(user, update);
  return Object.keys(changes).length === 0 ? [] : [{ type: 'ProfileUpdated', data: { userId, changes } }];
};

/** @throws Refusal user_erased */
const changedMembers = (user: User, update: ProfileChanges | MessengerChanges): object => {
  if (isErased(user)) throw new Refusal('user_erased', 'this user was erased');
  const now = user.entity;
  return Object.fromEntries(
    Object.entries(update).filter(([member, value]) => value !== now?.[member as keyof UserDocument]),
  );
};
