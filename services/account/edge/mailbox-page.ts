import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  MAILBOX_PATH,
  type DevelopmentMailboxAnswer,
  type DevelopmentMessage,
} from '../../../schemas/http/account/development-mailbox.ts';
import { htmlOf } from '../../../shared/primitives/text/html-text.ts';
import { developmentPage } from './development-page.ts';

/** Serves the messages, newest first: to programs as JSON, to people as a page without scripts. */
export const serveMailbox =
  (messages: readonly DevelopmentMessage[]) =>
  (app: NestFastifyApplication): void => {
    app
      .getHttpAdapter()
      .getInstance()
      .get(MAILBOX_PATH, (request, reply) => {
        const asked = request.headers.accept ?? '';
        if (asked.includes('application/json')) {
          return reply.send({ messages: [...messages] } satisfies DevelopmentMailboxAnswer);
        }
        return reply.type('text/html; charset=utf-8').send(pageOf(messages));
      });
  };

const pageOf = (messages: readonly DevelopmentMessage[]): string =>
  developmentPage(
    'Mailbox',
    `<p>What this development start would have sent, newest first, kept in memory. Load the page again to see more.</p>
${messages.length === 0 ? '<p>Nothing was sent yet.</p>' : messages.map(articleOf).join('\n')}`,
  );

const articleOf = ({ channel, to, subject, text, sentAt }: DevelopmentMessage): string =>
  `<article><h2>${htmlOf(subject === '' ? channel : subject)}</h2>
<p>${htmlOf(channel)} to <b>${htmlOf(to)}</b>, ${htmlOf(sentAt)}</p>
<pre>${withLinks(text)}</pre></article>`;

/** Turns URLs, from http or https up to the next space, into links. */
const withLinks = (text: string): string =>
  text
    .split(/(https?:\/\/\S+)/)
    .map((part, at) => (at % 2 === 1 ? `<a href="${htmlOf(part)}" rel="noreferrer">${htmlOf(part)}</a>` : htmlOf(part)))
    .join('');
