import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { RequestedPassword } from '../../../../schemas/http/account/one-time-password-routes.ts';
import { LOGGER } from '../../../../shared/edge/tokens.ts';
import type { RequestContext } from '../../../../shared/edge/requests/request-context.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { Logger } from '../../../../shared/host/logger.ts';
import { readAddress } from '../domain/email-address.ts';
import { MAIL_SENDS, type BackgroundSends } from '../../messages/background-sends.ts';
import { MAILER, type Mailer } from '../../messages/mailer.ts';
import { OneTimePasswordLogins } from '../one-time-passwords.ts';
import { Undeliverable } from '../../messages/undeliverable.ts';
import { passwordMail } from './password-mail.ts';

/** Sends a one-time password to an address, whether or not it is a user's. */
export class RequestEmailPassword extends Command<{ answer: RequestedPassword; position: Position }> {
  constructor(
    readonly request: { appId: string; origin: string; email: string },
    readonly metadata: EventMetadata,
    readonly showRateLimit: RequestContext['showRateLimit'],
  ) {
    super();
  }
}

/**
 * Answers when the mail server has taken the message. It takes messages to users and to others alike. A message that is sent
 * to users only is not waited for.
 */
@CommandHandler(RequestEmailPassword)
export class RequestEmailPasswordHandler implements ICommandHandler<RequestEmailPassword> {
  constructor(
    private readonly logins: OneTimePasswordLogins,
    @Inject(MAIL_SENDS) private readonly sends: BackgroundSends,
    @Inject(MAILER) private readonly mailer: Mailer | null,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async execute({ request, metadata, showRateLimit }: RequestEmailPassword) {
    const { mailer } = this;
    if (!mailer) throw new Refusal('provider_not_found', 'no mail server is set up here');
    const { appId, origin, email } = request;
    const addressee = { method: 'email', address: readAddress(email), appId } as const;
    const issued = await this.logins.issue(addressee, metadata, showRateLimit);
    const { password, to, delivery, notSent, answer, position } = issued;
    const send = () => mailer.send({ to, ...passwordMail(password, origin) });
    if (delivery === 'awaited') await this.sent(send, notSent);
    if (delivery === 'unawaited') this.sends.start(to, { send, notSent });
    return { answer, position };
  }

  private async sent(send: () => Promise<void>, notSent: () => Promise<void>): Promise<void> {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof Undeliverable)) {
        await notSent();
        throw error;
      }
      this.logger.warn({ reason: error.message }, 'a message was not sent');
    }
  }
}
