import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { StartedLogin } from '../../../../schemas/http/account/oauth-routes.ts';
import { LoginStates } from '../login-states.ts';
import { Logins, type LoginCaller } from '../logins.ts';
import { MESSENGER, noBot, type Messenger } from '../../messages/messenger.ts';

/** Sends somebody to the bot, to log in, or with a bearer token to link the messenger. */
export class StartBotLogin extends Command<StartedLogin> {
  constructor(
    readonly start: LoginCaller & { redirectUri: string | undefined },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(StartBotLogin)
export class StartBotLoginHandler implements ICommandHandler<StartBotLogin> {
  constructor(
    private readonly logins: Logins,
    private readonly states: LoginStates,
    @Inject(MESSENGER) private readonly messenger: Messenger | null,
  ) {}

  async execute({ start: { user, ...departing }, metadata }: StartBotLogin): Promise<StartedLogin> {
    if (!this.messenger) throw noBot();
    if (user) await this.logins.requireMayChangeLogins(user);
    const linkTo = user && { userId: user.userId, sessionId: user.sessionId };
    const start = { ...departing, method: 'messenger' as const, ...(linkTo && { linkTo }) };
    const { state, expiresAt } = await this.states.start(start, {}, metadata);
    return { url: this.messenger.deepLink(state), state, expiresAt };
  }
}
