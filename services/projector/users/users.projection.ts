import type { UserEvent } from '../../../schemas/events/user-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { UserDocument } from '../../../schemas/read-models/users.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { evolveUserEntity } from '../../../shared/user-entity/user-entity.ts';
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
    const document = evolveUserEntity(known, event as StoredEvent & UserEvent, event.time);
    return [{ collection, id, document: { ...document, revision: event.revision } }];
  },
};

const userIdOf = (event: StoredEvent): string => event.data['userId'] as string;
