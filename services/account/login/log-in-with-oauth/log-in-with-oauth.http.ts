import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oauthRoutes, type StartedLogin } from '../../../schemas/http/oauth-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { LogInWithIdToken } from './log-in-with-id-token.handler.ts';
import { LogInWithOAuth } from './log-in-with-oauth.handler.ts';
import { StartOAuthLogin } from './start-oauth-login.handler.ts';

const { startOAuthLogin, logInWithOAuth, logInWithIdToken } = oauthRoutes;

@Controller()
export class LogInWithOAuthHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(startOAuthLogin)
  start({ params, query, caller, context }: ParsedRequest<typeof startOAuthLogin>): Promise<StartedLogin> {
    const { appId, origin, user } = caller;
    const start = { ...params, appId, origin, user, redirectUri: query.redirectUri };
    return this.commands.execute(new StartOAuthLogin(start, context.metadata));
  }

  @Implements(logInWithOAuth)
  async logIn({
    params,
    body,
    caller,
    context,
  }: ParsedRequest<typeof logInWithOAuth>): Promise<CommandAnswer<Session>> {
    const { appId, origin, user } = caller;
    const { code, state, error, iss } = body;
    const returned = { code: code ?? '', state: state ?? '', error: error ?? '', iss: iss ?? undefined };
    const login = { ...params, ...returned, appId, origin, user, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(new LogInWithOAuth(login, context.metadata));
    return { body: session, position, sessionId };
  }

  @Implements(logInWithIdToken)
  async logInWithIdToken({
    params,
    body,
    caller,
    context,
  }: ParsedRequest<typeof logInWithIdToken>): Promise<CommandAnswer<Session>> {
    const { appId, user } = caller;
    const { idToken, nonce } = body;
    const login = { ...params, idToken, nonce: nonce ?? undefined, appId, user, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(new LogInWithIdToken(login, context.metadata));
    return { body: session, position, sessionId };
  }
}
