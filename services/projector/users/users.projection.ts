import type { UserEvent } from '../../../schemas/events/user-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { UserDocument } from '../../../schemas/read-models/users.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.users;

/** The user entity, by user id. */
export const usersProjection: Projection = {
  name,
  eventTypes: ['UserRegistered', 'IdentityLinked', 'UserLoggedIn', 'ProfileUpdated'],
  touches: (event) => [{ collection, id: userIdOf(event) }],
  evolve: (event, before) => {
    const id = userIdOf(event);
    const known = before({ collection, id }) as UserDocument | undefined;
    const document = evolveUser(known ?? newUser(id, event.time), event as StoredEvent & UserEvent);
    return [{ collection, id, document: { ...document, revision: event.revision } }];
  },
};

const userIdOf = (event: StoredEvent): string => event.data['userId'] as string;

const evolveUser = (user: UserDocument, { type, data, time }: UserEvent & { time: number }): UserDocument => {
  switch (type) {
    case 'UserRegistered':
      return { ...user, createdAt: toIso(time) };
    case 'IdentityLinked': {
      const { identityId, method, label } = data;
      const identity = { id: identityId, method, label, linkedAt: toIso(time) };
      return { ...user, identities: [...user.identities, identity], updatedAt: toIso(time) };
    }
    case 'UserLoggedIn':
      return user;
    case 'ProfileUpdated':
      return { ...user, ...data.changes, updatedAt: toIso(time) } as UserDocument;
  }
};

const newUser = (id: string, time: number): UserDocument => ({
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
  createdAt: toIso(time),
  updatedAt: toIso(time),
  revision: 0,
});
