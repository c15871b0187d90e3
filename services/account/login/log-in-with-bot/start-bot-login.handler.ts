import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { StartedLogin } from '../../../schemas/http/oauth-routes.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { LoginStates } from '../edge/login-states.ts';
import { Logins } from '../edge/logins.ts';
import { MESSENGER, type Messenger } from '../edge/messenger.ts';
import { noBot } from './no-bot.ts';

/** Sends somebody to the bot, to log in, or with a bearer token to link the messenger. */
export class StartBotLogin extends Command<StartedLogin> {
  constructor(
    readonly start: {
      appId: string;
      origin: string;
      redirectUri: string | undefined;
      /** Of the bearer token, if there is one. */
      user: UserCaller | undefined;
    },
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
