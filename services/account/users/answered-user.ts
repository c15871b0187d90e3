import type { UserEntity } from '../../../schemas/http/user-entity.ts';
import { inTime } from '../../../shared/primitives/in-time.ts';
import { asDeployed, entityOf, usersModel, type UserDocument } from '../../../shared/read-models/users.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const { user } = usersModel.collections;

/** A command succeeds also without the read store. */
const ANSWERS_WITHIN_MS = 500;

/** Returns what a user is answered: the user's own stream does not tell which smart accounts are deployed. */
export const answeredUser = async (
  readStore: Pick<ReadStore, 'getMany'>,
  entity: UserDocument,
): Promise<UserEntity> => {
  const stored = await inTime(() => readStore.getMany(user.name, [entity.id]), ANSWERS_WITHIN_MS);
  const found = stored?.get(entity.id);
  return entityOf(found ? asDeployed(entity, user.document.parse(found.document).deployments) : entity);
};
