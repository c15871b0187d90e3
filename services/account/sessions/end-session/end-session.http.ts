import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { EndOtherSessions, EndSession } from './end-session.handler.ts';

const { endSession, endOtherSessions, logOut } = accountRoutes;

@Controller()
export class EndSessionHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(endSession)
  async end({ params, caller, context }: ParsedRequest<typeof endSession>) {
    const session = { sessionId: params.id, userId: caller.userId };
    const position = await this.commands.execute(
      new EndSession(session, caller.appId, 'ended_by_user', context.metadata),
    );
    return { body: undefined, position };
  }

  @Implements(endOtherSessions)
  async endOthers({ caller, context }: ParsedRequest<typeof endOtherSessions>) {
    const position = await this.commands.execute(new EndOtherSessions(caller, context.metadata));
    return { body: undefined, position };
  }

  @Implements(logOut)
  async logOut({ caller, context }: ParsedRequest<typeof logOut>) {
    const position = await this.commands.execute(new EndSession(caller, caller.appId, 'logged_out', context.metadata));
    return { body: undefined, position };
  }
}
