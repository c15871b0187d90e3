import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { SessionList } from '../../../schemas/http/session-routes.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { sessionsModel } from '../../../shared/read-models/sessions.ts';
import { ListSessions } from './list-sessions.handler.ts';

const { listSessions } = accountRoutes;

@Controller()
export class ListSessionsHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(listSessions, { reads: [sessionsModel.name] })
  list({ caller }: ParsedRequest<typeof listSessions>): Promise<SessionList> {
    return this.queries.execute(new ListSessions(caller.userId, caller.sessionId, caller.appId));
  }
}
