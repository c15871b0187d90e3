import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const sendMessage = z.object({
  chat_id: z.union([z.int(), z.string()]),
  text: z.string().min(1).max(4_096),
  reply_markup: z
    .object({ inline_keyboard: z.array(z.array(z.object({ text: z.string().min(1), url: z.url() }))) })
    .optional(),
  link_preview_options: z.object({ is_disabled: z.boolean() }).optional(),
});

export interface BotMessage {
  messengerId: string;
  text: string;
  button: { label: string; url: string } | undefined;
}

/** How the stand-in behaves; each can be changed while it runs. */
interface Behaviour {
  /** Ids of people who blocked the bot. */
  blocked: Set<string>;
  /** Ids of people who never wrote to the bot. */
  unknown: Set<string>;
  /** Answers 429 with so many seconds. */
  retryAfter: number | undefined;
  /** The status of the answers for these people. */
  refused: Map<string, number>;
  /** Takes requests, and answers none. */
  hangs: boolean;
}

/** Telegram's Bot API, as far as this service uses it, on a port of its own: answers and refusals as documented. */
export class BotApi {
  readonly token = '8107:AAstandinstandinstandinstandinstandin';
  readonly sent: BotMessage[] = [];
  readonly behaviour: Behaviour = {
    blocked: new Set(),
    unknown: new Set(),
    refused: new Map(),
    retryAfter: undefined,
    hangs: false,
  };
  private readonly server = createServer((request, response) => void this.answer(request, response));

  /** The settings of an account service that uses it. */
  get settings() {
    return {
      MESSENGER_API_URL: this.url,
      MESSENGER_BOT_TOKEN: this.token,
      MESSENGER_BOT_NAME: 'annals_bot',
      MESSENGER_WEBHOOK_SECRET: 'a-secret-of-the-webhook',
    };
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.behaviour.hangs) return;
    const { status, body } = this.carryOut(request.url ?? '', Buffer.concat(chunks).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  private carryOut(url: string, text: string) {
    const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(url) ?? [];
    if (token === undefined) return refusal(404, 'Not Found');
    if (token !== this.token) return refusal(401, 'Unauthorized');
    if (method !== 'sendMessage') return refusal(404, 'Not Found');
    return this.sendMessage(text);
  }

  private sendMessage(text: string) {
    const { blocked, unknown, refused, retryAfter } = this.behaviour;
    const parsed = sendMessage.safeParse(JSON.parse(text));
    if (!parsed.success) return refusal(400, 'Bad Request: message text is empty');
    const { chat_id, text: message, reply_markup } = parsed.data;
    const messengerId = String(chat_id);
    if (retryAfter !== undefined) {
      return refusal(429, `Too Many Requests: retry after ${String(retryAfter)}`, { retry_after: retryAfter });
    }
    const status = refused.get(messengerId);
    if (status !== undefined) return refusal(status, 'Refused', status === 429 ? { retry_after: 30 } : undefined);
    if (unknown.has(messengerId)) return refusal(400, 'Bad Request: chat not found');
    if (blocked.has(messengerId)) return refusal(403, 'Forbidden: bot was blocked by the user');
    const button = reply_markup?.inline_keyboard[0]?.[0];
    if (button && !isTakenButton(button.url)) {
      return refusal(400, `Bad Request: inline keyboard button URL '${button.url}' is invalid: Wrong HTTP URL`);
    }
    this.sent.push({ messengerId, text: message, button: button && { label: button.text, url: button.url } });
    const chat = { id: chat_id, type: 'private' };
    return { status: 200, body: { ok: true, result: { message_id: this.sent.length, chat, text: message } } };
  }
}

const isTakenButton = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && hostname !== 'localhost';
};

const refusal = (status: number, description: string, parameters?: object) => ({
  status,
  body: { ok: false, error_code: status, description, ...(parameters && { parameters }) },
});
