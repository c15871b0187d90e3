import type { ProfileChanges, UserEvent } from '../../../schemas/events/user-events.ts';
import type { UserEntity } from '../../../schemas/http/user-entity.ts';
import { evolveUser } from '../../../shared/read-models/users.ts';
import type { Identity } from './identity.ts';

export const userStream = (userId: string): string => `user-${userId}`;
export const userIdFrom = (token26: string): string => `usr_${token26}`;

/** An interrupted login can be completed only while its challenge is valid, and fewer logins than this fit into that time. */
const LOGINS_REMEMBERED = 64;

export interface User {
  entity: UserEntity | undefined;
  /** The newest, oldest first, each with the id of its event. */
  logins: readonly { sessionId: string; eventId: string }[];
}

export const userFold = {
  initial: { entity: undefined, logins: [] } as User,
  evolve: ({ entity, logins }: User, event: UserEvent, time: number, eventId: string): User => ({
    entity: evolveUser(entity, event, { time, revision: entity ? entity.revision + 1 : 0 }),
    logins:
      event.type === 'UserLoggedIn'
        ? [...logins, { sessionId: event.data.sessionId, eventId }].slice(-LOGINS_REMEMBERED)
        : logins,
  }),
};

/** Records a login once per session. The first one registers the user; the first with an identity links that. */
export const logIn = (
  { entity, logins }: User,
  { userId, appId, sessionId, ...identity }: Identity & { userId: string; appId: string; sessionId: string },
): UserEvent[] => {
  const { identityId, method } = identity;
  const isLinked = entity?.identities.some(({ id }) => id === identityId);
  return [
    ...(entity ? [] : [{ type: 'UserRegistered' as const, data: { userId } }]),
    ...(isLinked ? [] : [{ type: 'IdentityLinked' as const, data: { userId, ...identity } }]),
    ...(logins.some((login) => login.sessionId === sessionId)
      ? []
      : [{ type: 'UserLoggedIn' as const, data: { userId, identityId, method, appId, sessionId } }]),
  ];
};

/** Records only the members that differ from the current profile. */
export const updateProfile = ({ entity }: User, userId: string, update: ProfileChanges): UserEvent[] => {
  const changes = Object.fromEntries(
    Object.entries(update).filter(([member, value]) => value !== entity?.[member as keyof ProfileChanges]),
  );
  return Object.keys(changes).length === 0 ? [] : [{ type: 'ProfileUpdated', data: { userId, changes } }];
};
