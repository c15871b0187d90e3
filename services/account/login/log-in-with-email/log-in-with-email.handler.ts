import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { readAddress } from '../domain/email-address.ts';
import type { LoggedIn, LoginRequest } from '../logins.ts';
import { MAILER, type Mailer } from '../../messages/mailer.ts';
import { OneTimePasswordLogins } from '../one-time-passwords.ts';

/** Logs in with a one-time password, or links the address to the user of a bearer token. */
export class LogInWithEmail extends Command<LoggedIn> {
  constructor(
    /** `token`: from the answer to the request for the password. */
    readonly login: LoginRequest & { email: string; otp: string; token?: string | undefined },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInWithEmail)
export class LogInWithEmailHandler implements ICommandHandler<LogInWithEmail> {
  constructor(
    private readonly logins: OneTimePasswordLogins,
    @Inject(MAILER) private readonly mailer: Mailer | null,
  ) {}

  async execute({ login, metadata }: LogInWithEmail): Promise<LoggedIn> {
    if (!this.mailer) throw new Refusal('provider_not_found', 'no mail server is set up here');
    const { appId, email, otp, token, device, user } = login;
    const addressee = { method: 'email', address: readAddress(email), appId } as const;
    return this.logins.logIn(addressee, { password: otp, token, device, user }, metadata);
  }
}
