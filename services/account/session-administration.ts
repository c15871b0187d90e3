import { userStream } from '../../schemas/events/account/user-events.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { operatorMetadata } from '../../shared/event-store/transactions/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { SessionEnder } from './sessions/session-ender.ts';

/** Ends every session of a user, for an operator, e.g. after the user's device was stolen. @throws CannotStart */
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
