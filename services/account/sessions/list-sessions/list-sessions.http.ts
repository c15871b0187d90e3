import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { AsOfParameter } from '../../../../shared/edge/requests/as-of.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { sessionsModel } from '../../../../shared/read-models/account/sessions.ts';
import { ListSessions } from './list-sessions.handler.ts';

const { listSessions } = accountRoutes;

@Controller()
export class ListSessionsHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly asOf: AsOfParameter,
  ) {}

  @Implements(listSessions, { reads: [sessionsModel.name] })
  async list({ query, caller, context }: ParsedRequest<typeof listSessions>) {
    const { userId, sessionId, appId } = caller;
    if (query.asOf === undefined) return this.queries.execute(new ListSessions(userId, sessionId, appId));
    const asOf = await this.asOf.read(query.asOf);
    context.showAsOf(asOf.position);
    const asked = { asOf: { position: asOf.position, time: await this.asOf.timeOf(asOf) }, ended: context.ended() };
    return this.queries.execute(new ListSessions(userId, sessionId, appId, asked));
  }
}
