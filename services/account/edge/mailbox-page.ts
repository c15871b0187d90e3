import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  MAILBOX_PATH,
  type DevelopmentMailboxAnswer,
  type DevelopmentMessage,
} from '../../../schemas/http/development-mailbox.ts';
import { htmlOf } from './html-text.ts';

/** Of the pages of a development start. */
export const DEVELOPMENT_STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}
article{border-top:1px solid #8888;margin-top:1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}:root{color-scheme:light dark}`;

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

const pageOf = (messages: readonly DevelopmentMessage[]): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mailbox</title>
<style>${DEVELOPMENT_STYLE}</style>
<h1>Mailbox</h1>
<p>What this development start would have sent, newest first, kept in memory. Load the page again to see more.</p>
${messages.length === 0 ? '<p>Nothing was sent yet.</p>' : messages.map(articleOf).join('\n')}
</html>
`;

const articleOf = ({ channel, to, subject, text, sentAt }: DevelopmentMessage): string =>
  `<article><h2>${htmlOf(subject === '' ? channel : subject)}</h2>
<p>${htmlOf(channel)} to <b>${htmlOf(to)}</b>, ${htmlOf(sentAt)}</p>
<pre>${withLinks(text)}</pre></article>`;

/** What begins with http or https up to the next space becomes a link. */
const withLinks = (text: string): string =>
  text
    .split(/(https?:\/\/\S+)/)
    .map((part, at) => (at % 2 === 1 ? `<a href="${htmlOf(part)}" rel="noreferrer">${htmlOf(part)}</a>` : htmlOf(part)))
    .join('');
