import { Controller, Inject } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { PublicUser, UserEntity } from '../../../schemas/http/user-entity.ts';
import { invalid, type Refusal } from '../../../shared/errors/refusal.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { CLOCK, EVENT_STORE } from '../../../shared/edge/tokens.ts';
import { PositionHeader } from '../../../shared/edge/position-header.ts';
import { usersModel } from '../../../shared/read-models/users.ts';
import { FindUserByMessenger, GetUser } from './get-user.handler.ts';
import type { AsOf } from './user-snapshots.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { getUser, findByMessenger } = accountRoutes;

/** A date, which is its first moment in UTC, or a time, with milliseconds or without, and with a time zone. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

@Controller()
export class GetUserHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly positions: PositionHeader,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Implements(getUser, { reads: [usersModel.name] })
  async get({ params, query, caller, context }: ParsedRequest<typeof getUser>): Promise<UserEntity | PublicUser> {
    const asked =
      query.asOf === undefined ? undefined : { asOf: await this.readAsOf(query.asOf), ended: context.ended() };
    return this.queries.execute(new GetUser(params.id, caller.userId, asked));
  }

  @Implements(findByMessenger, { reads: [usersModel.name] })
  find({ params, caller }: ParsedRequest<typeof findByMessenger>): Promise<UserEntity | PublicUser> {
    return this.queries.execute(new FindUserByMessenger(params.messengerId, caller.userId));
  }

  /** @throws Refusal validation_failed */
  private async readAsOf(text: string): Promise<AsOf> {
    if (ISO_TIME.test(text) && !Number.isNaN(Date.parse(text))) {
      const time = Date.parse(text);
      if (time > this.clock.now()) throw wrong('is in the future');
      return { time, position: Infinity };
    }
    const position = /^\d{1,15}$/.test(text) ? Number(text) : this.positions.tryRead(text);
    if (position === undefined) throw wrong('is neither an ISO 8601 date or time, nor a position, nor an x-position');
    if (position > (await this.eventStore.head()))
      throw wrong(
        'is a position after the newest event; a time is written as ISO 8601 says, such as 2026-11-18T12:00:00Z',
      );
    return { time: Infinity, position };
  }
}

const wrong = (message: string): Refusal => invalid({ path: 'asOf', message });
