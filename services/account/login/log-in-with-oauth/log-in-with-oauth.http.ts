import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oauthRoutes } from '../../../../schemas/http/account/oauth-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
import { LogInWithIdToken } from './log-in-with-id-token.handler.ts';
import { LogInWithOAuth } from './log-in-with-oauth.handler.ts';
import { StartOAuthLogin } from './start-oauth-login.handler.ts';

const { startOAuthLogin, logInWithOAuth, logInWithIdToken } = oauthRoutes;

@Controller()
export class LogInWithOAuthHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(startOAuthLogin)
  start({ params, query, caller, context }: ParsedRequest<typeof startOAuthLogin>) {
    const { appId, origin, user } = caller;
    const start = { ...params, appId, origin, user, redirectUri: query.redirectUri };
    return this.commands.execute(new StartOAuthLogin(start, context.metadata));
  }

  @Implements(logInWithOAuth)
  async logIn({ params, body, caller, context }: ParsedRequest<typeof logInWithOAuth>) {
    const { code, state, error, iss } = body;
    const returned = { code: code ?? '', state: state ?? '', error: error ?? '', iss: iss ?? undefined };
    const login = { ...params, ...returned, ...caller, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithOAuth(login, context.metadata)));
  }

  @Implements(logInWithIdToken)
  async logInWithIdToken({ params, body, caller, context }: ParsedRequest<typeof logInWithIdToken>) {
    const { idToken, nonce } = body;
    const login = { ...params, ...caller, idToken, nonce: nonce ?? undefined, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithIdToken(login, context.metadata)));
  }
}
