import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import { LoginStates } from '../login-states.ts';
import { Logins, type LoggedIn, type LoginRequest } from '../logins.ts';

/** Completes a login with the code that the bot gave to a user of the messenger. */
export class LogInWithBot extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & { state: string; code: string },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInWithBot)
export class LogInWithBotHandler implements ICommandHandler<LogInWithBot> {
  constructor(
    private readonly logins: Logins,
    private readonly states: LoginStates,
  ) {}

  async execute({ login, metadata }: LogInWithBot): Promise<LoggedIn> {
    const { appId, origin, state, code, device, user } = login;
    await this.logins.requireStillTrusted(user);
    const returning = { method: 'messenger', appId, origin, user } as const;
    const proven = await this.states.redeemIssued(state, returning, sha256(code), metadata);
    return this.logins.complete({ ...proven, appId, device }, metadata);
  }
}
