import { userEvents, type UserEvent } from '../../schemas/events/user-events.ts';
import { userEntity, type UserEntity } from '../../schemas/http/user-entity.ts';
import { ofProfile } from '../../schemas/profile.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

/** Users, by user id, as HTTP answers them. */
export const usersModel = readModel({
  name: 'users-v1',
  collections: { user: { name: 'users', document: userEntity, indexes: [] } },
  events: userEvents,
  touches: ({ data }) => ({ user: data.userId }),
  evolve: ({ user }, event) => ({ user: evolveUser(user, event, event) }),
});

/**
 * Returns a user after one more event of its stream, for the read model and for the answer of a command.
 * @param user `undefined` before the first event
 */
export const evolveUser = (
  user: UserEntity | undefined,
  { type, data }: UserEvent,
  { time, revision }: Pick<StoredEvent, 'time' | 'revision'>,
): UserEntity => {
  const at = toIso(time);
  const known = user ?? newUser(data.userId, at);
  switch (type) {
    case 'UserRegistered':
      return { ...known, createdAt: at, updatedAt: at, revision };
    case 'IdentityLinked': {
      const { identityId: id, method, label } = data;
      return {
        ...known,
        identities: [...known.identities, { id, method, label, linkedAt: at }],
        updatedAt: at,
        revision,
      };
    }
    case 'IdentityUnlinked':
      return {
        ...known,
        identities: known.identities.filter(({ id }) => id !== data.identityId),
        updatedAt: at,
        revision,
      };
    case 'UserLoggedIn':
      return { ...known, revision };
    case 'ProfileUpdated':
      return { ...known, ...data.changes, updatedAt: at, revision };
    case 'UserErased':
      return { ...newUser(data.userId, known.createdAt), updatedAt: at, revision };
  }
};

const NO_PROFILE = ofProfile(() => null);

const newUser = (id: string, at: string): Omit<UserEntity, 'revision'> => ({
  id,
  ...NO_PROFILE,
  messengerId: null,
  messengerUsername: null,
  messengerFirstName: null,
  messengerLastName: null,
  messengerAvatarUrl: null,
  messengerAuthDate: null,
  messengerVerified: null,
  identities: [],
  smartAccounts: [],
  createdAt: at,
  updatedAt: at,
});
