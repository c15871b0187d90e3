import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { ProfileChanges } from '../../../schemas/events/user-events.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { SETTINGS } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { fittedProfile } from '../domain/profile.ts';
import type { LoggedIn } from '../edge/logins.ts';
import { MESSENGER, type Messenger } from '../edge/messenger.ts';
import { OneTimePasswordLogins } from '../edge/one-time-passwords.ts';

/** Logs in with a one-time password, or links the user of the messenger to the user of a bearer token. */
export class LogInWithMessenger extends Command<LoggedIn> {
  constructor(
    readonly login: {
      appId: string;
      messengerId: string;
      otp: string;
      /** That the request was answered with. */
      token: string | undefined;
      /** As the messenger has it: fills members of the profile that are empty, as far as it fits. */
      profile: ProfileChanges;
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

@CommandHandler(LogInWithMessenger)
export class LogInWithMessengerHandler implements ICommandHandler<LogInWithMessenger> {
  constructor(
    private readonly logins: OneTimePasswordLogins,
    @Inject(MESSENGER) private readonly messenger: Messenger | null,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'NODE_ENV'>,
  ) {}

  async execute({ login, metadata }: LogInWithMessenger): Promise<LoggedIn> {
    if (!this.messenger) throw new Refusal('provider_not_found', 'no bot is set up here');
    const { appId, messengerId, otp, token, device, user } = login;
    const profile = fittedProfile(login.profile, { allowLocalHttp: this.settings.NODE_ENV !== 'production' });
    const addressee = { method: 'messenger', address: { text: messengerId, capitals: [] }, appId } as const;
    return this.logins.logIn(addressee, { password: otp, token, device, user, profile }, metadata);
  }
}
