import { MESSENGER_PATH, type DevelopmentMessage } from '../../../schemas/http/account/development-mailbox.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { htmlOf } from '../../../shared/primitives/text/html-text.ts';
import type { Mailer, MailMessage } from './mailer.ts';
import type { Messenger, MessengerMessage } from './messenger.ts';

/** More than anybody looks at. */
const MESSAGES_MAX = 200;

/** Keeps the messages of a development start, which sends none, for a page that shows them. */
export class DevelopmentMailbox {
  /** Newest first. */
  readonly messages: DevelopmentMessage[] = [];
  readonly mailer: Mailer = {
    send: (message: MailMessage) => this.keep({ channel: 'email', ...message }),
  };
  readonly messenger: Messenger = {
    deepLink: (state) => `${this.parts.accountUrl()}${MESSENGER_PATH}?start=${state}`,
    send: (to, message) => this.keep({ channel: 'messenger', to, subject: '', ...whole(message) }),
  };

  constructor(
    private readonly parts: {
      clock: Clock;
      ids: Ids;
      /** The base URL of the account service, which serves the page that stands in for the messenger. */
      accountUrl: () => string;
    },
  ) {}

  private keep({ channel, to, subject, text, html }: MailMessage & Pick<DevelopmentMessage, 'channel'>): Promise<void> {
    const { ids, clock } = this.parts;
    this.messages.unshift({ id: ids.uuid(), channel, to, subject, text, html, sentAt: toIso(clock.now()) });
    this.messages.splice(MESSAGES_MAX);
    return Promise.resolve();
  }
}

/** Renders the button as a link, because no messenger shows this message. */
const whole = ({ text, button }: MessengerMessage): Pick<MailMessage, 'text' | 'html'> => {
  if (!button) return { text, html: `<p>${htmlOf(text)}</p>` };
  const { label, url } = button;
  return {
    text: `${text}\n\n${label}: ${url}`,
    html: `<p>${htmlOf(text)}</p><p><a href="${htmlOf(url)}">${htmlOf(label)}</a></p>`,
  };
};
