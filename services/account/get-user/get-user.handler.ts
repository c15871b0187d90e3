import { Inject } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { publicUser, type PublicUser } from '../../../schemas/http/account-routes.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { userDocument, type UserDocument } from '../../../schemas/read-models/users.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { READ_STORE } from '../../../shared/edge/tokens.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { GetUser } from './get-user.query.ts';

const { projection, collection } = readModels.users;

@QueryHandler(GetUser)
export class GetUserHandler implements IQueryHandler<GetUser> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  async execute({ userId, callerId }: GetUser): Promise<UserDocument | PublicUser> {
    const stored = await this.models.find(projection, async () =>
      (await this.readStore.getMany(collection, [userId])).get(userId),
    );
    if (!stored) throw new Refusal('user_not_found', 'no user has this id');
    return (userId === callerId ? userDocument : publicUser).parse(stored.document);
  }
}
