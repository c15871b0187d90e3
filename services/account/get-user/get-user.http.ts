import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes, type PublicUser } from '../../../schemas/http/account-routes.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { UserDocument } from '../../../schemas/read-models/users.ts';
import { Implements, type Asked } from '../../../shared/edge/implements.ts';
import { GetUser } from './get-user.query.ts';

const { getUser } = accountRoutes;

@Controller()
export class GetUserHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(getUser, { reads: [readModels.users.projection] })
  get({ params, caller }: Asked<typeof getUser>): Promise<UserDocument | PublicUser> {
    return this.queries.execute(new GetUser(params.id, caller.userId));
  }
}
