import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { ProfileChanges } from '../../../../schemas/events/account/user-events.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { SETTINGS } from '../../../../shared/edge/tokens.ts';
import { fittedProfile } from '../../users/domain/profile.ts';
import type { LoggedIn, LoginRequest } from '../logins.ts';
import { MESSENGER, noBot, type Messenger } from '../../messages/messenger.ts';
import { OneTimePasswordLogins } from '../one-time-passwords.ts';

/** Logs in with a one-time password, or links the user of the messenger to the user of a bearer token. */
export class LogInWithMessenger extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & {
      messengerId: string;
      otp: string;
      /** From the answer to the request for the password. */
      token?: string | undefined;
      /** As the messenger has it: fills members of the profile that are empty, as far as it fits. */
      profile: ProfileChanges;
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
    if (!this.messenger) throw noBot();
    const { appId, messengerId, otp, token, device, user } = login;
    const profile = fittedProfile(login.profile, { allowLocalHttp: this.settings.NODE_ENV !== 'production' });
    const addressee = { method: 'messenger', address: { text: messengerId, capitals: [] }, appId } as const;
    return this.logins.logIn(addressee, { password: otp, token, device, user, profile }, metadata);
  }
}
