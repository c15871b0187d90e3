import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { IDENTITY_PROVIDERS, type IdentityProviders } from './providers/identity-provider.ts';
import { LoginStates } from '../login-states.ts';
import { Logins, type LoginCaller } from '../logins.ts';
import { providerOf } from './provider-of.ts';

/** Sends somebody to a provider, to log in, or with a bearer token to link what that proves. */
export class StartOAuthLogin extends Command<StartedLogin> {
  constructor(
    readonly start: LoginCaller & { provider: string; redirectUri: string | undefined },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(StartOAuthLogin)
export class StartOAuthLoginHandler implements ICommandHandler<StartOAuthLogin> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly states: LoginStates,
    @Inject(IDENTITY_PROVIDERS) private readonly providers: IdentityProviders,
  ) {}

  async execute({ start, metadata }: StartOAuthLogin): Promise<StartedLogin> {
    const { provider: name, user, ...departing } = start;
    const { method, provider } = providerOf(this.providers, name);
    const linkTo = user && { userId: user.userId, sessionId: user.sessionId };
    if (user) await this.logins.requireMayChangeLogins(user);
    const { ids } = this.transactor;
    const secrets = { verifier: ids.token(52), nonce: ids.token(26) };
    const departure = await this.states.start({ ...departing, method, ...(linkTo && { linkTo }) }, secrets, metadata);
    const { state, redirectUri, expiresAt } = departure;
    return { url: await provider.loginUrl({ state, redirectUri, ...secrets }), state, expiresAt };
  }
}
