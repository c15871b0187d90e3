import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { MESSENGER_PATH, type DevelopmentMessenger } from '../../../../schemas/http/account/development-mailbox.ts';
import { MESSENGER_ID } from '../../../../schemas/http/account/one-time-password-routes.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { htmlOf } from '../../../../shared/primitives/text/html-text.ts';
import { developmentPage } from '../../edge/development-page.ts';
import { BotReplies } from './bot-replies.ts';

/** Whoever opens the page without saying who they are. */
const SOMEBODY = '1000000001';

/**
 * Serves a page that stands in for the messenger of a development start: it starts the bot with the state of a login, as a
 * person whose id may be given, and shows what the bot says.
 */
export const serveMessenger = (app: NestFastifyApplication): void => {
  app
    .getHttpAdapter()
    .getInstance()
    .get(MESSENGER_PATH, async (request, reply) => {
      const { start = '', from = '' } = request.query as Partial<Record<'start' | 'from', unknown>>;
      const state = String(start);
      const messengerId = MESSENGER_ID.test(String(from)) ? String(from) : SOMEBODY;
      const metadata = { correlationId: systemIds.uuid(), actor: { type: 'system', id: 'anonymous' } } as const;
      const message = await app.get(BotReplies).replyTo(messengerId, state, metadata);
      const said: DevelopmentMessenger = { messengerId, text: message.text, button: message.button ?? null };
      if (request.headers.accept?.includes('application/json')) return reply.send(said);
      return reply.type('text/html; charset=utf-8').send(pageOf(said, state));
    });
};

const pageOf = ({ messengerId, text, button }: DevelopmentMessenger, state: string): string =>
  developmentPage(
    'Messenger',
    `<p>This development start has no bot: the page stands in for the chat of the user ${htmlOf(messengerId)} with it.</p>
<pre>${htmlOf(text)}</pre>
${button ? `<p><a href="${htmlOf(button.url)}" rel="noreferrer">${htmlOf(button.label)}</a></p>` : ''}
<form><input type="hidden" name="start" value="${htmlOf(state)}">
<label>As the user <input name="from" value="${htmlOf(messengerId)}" inputmode="numeric"></label> <button>Start</button></form>`,
  );
