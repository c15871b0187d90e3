import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { PublicUser, UserEntity } from '../../../schemas/http/user-entity.ts';
import { usersModel } from '../../../shared/read-models/users.ts';
import { GetUser } from './get-user.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { getUser } = accountRoutes;

@Controller()
export class GetUserHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(getUser, { reads: [usersModel.name] })
  get({ params, caller }: ParsedRequest<typeof getUser>): Promise<UserEntity | PublicUser> {
    return this.queries.execute(new GetUser(params.id, caller.userId));
  }
}
