import { Inject } from '@nestjs/common';
import { publicUser, type PublicUser, type UserEntity } from '../../../schemas/http/user-entity.ts';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import { entityOf, usersModel } from '../../../shared/read-models/users.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

/** Finds a user: callers see all of themselves, and of others only what is public. */
export class GetUser extends Query<UserEntity | PublicUser> {
  constructor(
    readonly userId: string,
    readonly callerId: string,
  ) {
    super();
  }
}

const { user } = usersModel.collections;

@QueryHandler(GetUser)
export class GetUserHandler implements IQueryHandler<GetUser> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  async execute({ userId, callerId }: GetUser): Promise<UserEntity | PublicUser> {
    const stored = await this.models.find(usersModel.name, async () =>
      (await this.readStore.getMany(user.name, [userId])).get(userId),
    );
    if (!stored) throw new Refusal('user_not_found', 'no user has this id');
    const found = user.document.parse(stored.document);
    if (found.erasedAt !== null) throw new Refusal('user_erased', 'this user was erased');
    return userId === callerId ? entityOf(found) : publicUser.parse(found);
  }
}
