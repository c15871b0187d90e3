import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { stateUnknown } from '../domain/login-state.ts';
import { sessionIdFrom } from '../domain/session.ts';
import { LoginStates } from '../edge/login-states.ts';
import { Logins, type LoggedIn } from '../edge/logins.ts';

/** Completes a login with the code that the bot gave to a user of the messenger. */
export class LogInWithBot extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      origin: string;
      state: string;
      code: string;
      /** The header `user-agent`. */
      device: string | undefined;
      /** Of the bearer token, if there is one. */
      user: UserCaller | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInWithBot)
export class LogInWithBotHandler implements ICommandHandler<LogInWithBot> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly states: LoginStates,
  ) {}

  async execute({ login, metadata }: LogInWithBot): Promise<LoggedIn> {
    const { appId, origin, state, code, device, user } = login;
    await this.logins.requireStillTrusted(user);
    const returning = { method: 'messenger', appId, origin, sessionId: user?.sessionId } as const;
    const redemption = { codeHash: sha256(code), sessionId: sessionIdFrom(this.transactor.ids.token(26)) };
    const proven = await this.states.redeemIssued(state, returning, redemption, metadata);
    return this.logins.complete({ ...proven, appId, device, used: stateUnknown }, metadata);
  }
}
