import type { UserEntity } from '../../../schemas/http/account/user-entity.ts';
import { inTime } from '../../../shared/primitives/waiting/in-time.ts';
import { asDeployed, entityOf, usersModel, type UserDocument } from '../../../shared/read-models/account/users.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { user } = usersModel.collections;

/** Timeout of the read store, without which a command succeeds too. */
const ANSWERS_WITHIN_MS = 500;

/**
 * Returns the user for an answer. Adds which smart accounts are deployed, which the user's own stream does not have.
 */
export const answeredUser = async (
  readStore: Pick<ReadStore, 'getMany'>,
  entity: UserDocument,
): Promise<UserEntity> => {
  const stored = await inTime(() => readStore.getMany(user.name, [entity.id]), ANSWERS_WITHIN_MS);
  const found = stored?.get(entity.id);
  return entityOf(found ? asDeployed(entity, user.document.parse(found.document).deployments) : entity);
};
