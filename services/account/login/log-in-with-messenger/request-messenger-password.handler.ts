import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { RequestedPassword } from '../../../../schemas/http/account/one-time-password-routes.ts';
import type { RequestContext } from '../../../../shared/edge/requests/request-context.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { BackgroundSends } from '../../messages/background-sends.ts';
import { MESSENGER, noBot, type Messenger } from '../../messages/messenger.ts';
import { OneTimePasswordLogins } from '../one-time-passwords.ts';

/** Sends a one-time password to a user of the messenger, whether or not it is a user of ours. */
export class RequestMessengerPassword extends Command<{ answer: RequestedPassword; position: Position }> {
  constructor(
    readonly request: { appId: string; origin: string; messengerId: string },
    readonly metadata: EventMetadata,
    readonly showRateLimit: RequestContext['showRateLimit'],
  ) {
    super();
  }
}

/**
 * Answers before the messenger has taken the message: it knows only people who wrote to the bot before, so its answer, or the
 * time until it comes, would tell who did.
 */
@CommandHandler(RequestMessengerPassword)
export class RequestMessengerPasswordHandler implements ICommandHandler<RequestMessengerPassword> {
  constructor(
    private readonly logins: OneTimePasswordLogins,
    private readonly sends: BackgroundSends,
    @Inject(MESSENGER) private readonly messenger: Messenger | null,
  ) {}

  async execute({ request, metadata, showRateLimit }: RequestMessengerPassword) {
    const { messenger, sends } = this;
    if (!messenger) throw noBot();
    sends.requireServer();
    const { appId, origin, messengerId } = request;
    const addressee = { method: 'messenger', address: { text: messengerId, capitals: [] }, appId } as const;
    const issued = await this.logins.issue(addressee, metadata, showRateLimit);
    const { password, delivery, notSent, answer, position } = issued;
    const send = () => messenger.send(messengerId, { text: passwordText(password, origin) });
    if (delivery !== 'none') sends.start(messengerId, { send, notSent });
    return { answer, position };
  }
}

/** It names the site, so that nobody types the password into another one. */
const passwordText = (password: string, origin: string): string => {
  const site = new URL(origin).host;
  return `${password} is your code for ${site}.\n\nType it in there and nowhere else. It can be used once, within 5 minutes.`;
};
