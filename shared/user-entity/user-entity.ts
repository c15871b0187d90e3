import type { ProfileChanges, UserEvent } from '../../schemas/events/user-events.ts';
import type { UserDocument } from '../../schemas/read-models/users.ts';
import { toIso } from '../primitives/clock.ts';

/**
 * The user entity after one more event of its stream: what the read model keeps and what a command answers with.
 * @param user `undefined` before the first event
 * @param time Unix milliseconds of the event
 */
export const evolveUserEntity = (user: UserDocument | undefined, event: UserEvent, time: number): UserDocument => {
  const at = toIso(time);
  const known = user ?? newUser(event.data.userId, at);
  const after: UserDocument = { ...known, revision: known.revision + 1 };
  switch (event.type) {
    case 'UserRegistered':
      return { ...after, createdAt: at, updatedAt: at };
    case 'IdentityLinked': {
      const { identityId, method, label } = event.data;
      return {
        ...after,
        identities: [...known.identities, { id: identityId, method, label, linkedAt: at }],
        updatedAt: at,
      };
    }
    case 'UserLoggedIn':
      return after;
    case 'ProfileUpdated':
      return { ...after, ...changed(known, event.data.changes), updatedAt: at };
  }
};

const changed = (user: UserDocument, changes: ProfileChanges) => ({
  username: changes.username === undefined ? user.username : changes.username,
  firstname: changes.firstname === undefined ? user.firstname : changes.firstname,
  lastname: changes.lastname === undefined ? user.lastname : changes.lastname,
  avatar: changes.avatar === undefined ? user.avatar : changes.avatar,
  signature: changes.signature === undefined ? user.signature : changes.signature,
});

const newUser = (id: string, at: string): UserDocument => ({
  id,
  username: null,
  firstname: null,
  lastname: null,
  avatar: null,
  signature: null,
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
  revision: -1,
});
