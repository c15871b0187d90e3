import { userStream } from '../../schemas/events/user-events.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { operatorMetadata } from '../../shared/event-store/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { SessionEnder } from './edge/session-ender.ts';

/** Ends every session of a user, as an operator does for somebody whose device was stolen. @throws CannotStart */
export const endSessionsOf = async (
  userId: string,
  foundation: Pick<Foundation & WithKeyVault, 'eventStore' | 'keyVault' | 'masterKey' | 'clock' | 'ids'>,
): Promise<void> => {
  const { eventStore, clock, ids } = foundation;
  const known = await eventStore.read(userStream(userId), { limit: 1 });
  if (known.length === 0) throw new CannotStart(`no user has the id ${userId}`);
  const sessions = new SessionEnder(new Transactor(eventStore, clock, ids, personalDataOf(foundation)));
  await sessions.endAll({ userId, reason: 'ended_by_operator' }, operatorMetadata(ids), () => true);
};
