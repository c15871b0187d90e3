import { MESSENGER_PATH, type DevelopmentMessage } from '../../../schemas/http/development-mailbox.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import type { Ids } from '../../../shared/primitives/ids.ts';
import { htmlOf } from '../../../shared/primitives/html-text.ts';
import type { Mailer, MailMessage } from './mailer.ts';
import type { Messenger, MessengerMessage } from './messenger.ts';

/** More than anybody looks at. */
const MESSAGES_MAX = 200;

/** Keeps what a development start would have sent, for a page that shows it. */
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

/** The button as a link: of a message that no messenger shows. */
const whole = ({ text, button }: MessengerMessage): Pick<MailMessage, 'text' | 'html'> => {
  if (!button) return { text, html: `<p>${htmlOf(text)}</p>` };
  const { label, url } = button;
  return {
    text: `${text}\n\n${label}: ${url}`,
    html: `<p>${htmlOf(text)}</p><p><a href="${htmlOf(url)}">${htmlOf(label)}</a></p>`,
  };
};
