import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { PublicUser, UserEntity } from '../../../schemas/http/user-entity.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { PositionHeader } from '../../../shared/edge/position-header.ts';
import { usersModel } from '../../../shared/read-models/users.ts';
import { FindUserByMessenger, GetUser, type AsOf } from './get-user.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { getUser, findByMessenger } = accountRoutes;

/** With milliseconds or without, and with a time zone. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

@Controller()
export class GetUserHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly positions: PositionHeader,
  ) {}

  @Implements(getUser, { reads: [usersModel.name] })
  get({ params, query, caller }: ParsedRequest<typeof getUser>): Promise<UserEntity | PublicUser> {
    const asOf = query.asOf === undefined ? undefined : this.readAsOf(query.asOf);
    return this.queries.execute(new GetUser(params.id, caller.userId, asOf));
  }

  @Implements(findByMessenger, { reads: [usersModel.name] })
  find({ params, caller }: ParsedRequest<typeof findByMessenger>): Promise<UserEntity | PublicUser> {
    return this.queries.execute(new FindUserByMessenger(params.messengerId, caller.userId));
  }

  /** @throws Refusal validation_failed */
  private readAsOf(text: string): AsOf {
    if (/^\d{1,15}$/.test(text)) return { time: Infinity, position: Number(text) };
    if (ISO_TIME.test(text) && !Number.isNaN(Date.parse(text))) return { time: Date.parse(text), position: Infinity };
    const position = this.positions.tryRead(text);
    if (position !== undefined) return { time: Infinity, position };
    throw invalid({ path: 'asOf', message: 'is neither an ISO 8601 time, nor a position, nor an x-position' });
  }
}
