import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { AsOfParameter } from '../../../../shared/edge/requests/as-of.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { FindUserByMessenger, GetUser } from './get-user.handler.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';

const { getUser, findByMessenger } = accountRoutes;

@Controller()
export class GetUserHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly asOf: AsOfParameter,
  ) {}

  @Implements(getUser, { reads: [usersModel.name] })
  async get({ params, query, caller, context }: ParsedRequest<typeof getUser>) {
    const asOf = query.asOf === undefined ? undefined : await this.asOf.read(query.asOf);
    // Others are answered as they are now.
    if (asOf && params.id === caller.userId) context.showAsOf(asOf.position);
    const asked = asOf && { asOf: asOf.position, ended: context.ended() };
    return this.queries.execute(new GetUser(params.id, caller.userId, asked));
  }

  @Implements(findByMessenger, { reads: [usersModel.name] })
  find({ params, caller }: ParsedRequest<typeof findByMessenger>) {
    return this.queries.execute(new FindUserByMessenger(params.messengerId, caller.userId));
  }
}
