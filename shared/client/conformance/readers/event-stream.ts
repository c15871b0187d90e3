import type { Json } from '../json-value.ts';
import { eventBlocks, type EventBlock } from './event-blocks.ts';
import { stateOf, type Message, type Reader } from './reader.ts';

/** A client of server-sent events that keeps all that it is sent. */
export class EventStream implements Reader {
  readonly messages: Message[] = [];
  ended: string | undefined;
  private comments = 0;
  private lastEventId = '';
  private readonly leaving = new AbortController();

  private constructor(private readonly answer: { status: number; headers: Json }) {}

  /** Returns the stream, or the body of another answer. */
  static async open(url: URL, headers: Record<string, string>): Promise<{ stream: EventStream; answer: Json }> {
    const leaving = new AbortController();
    const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: leaving.signal });
    const answer = { status: response.status, headers: Object.fromEntries(response.headers) };
    const stream = new EventStream(answer);
    stream.leaving.signal.addEventListener('abort', () => {
      leaving.abort();
    });
    const isStream = response.ok && answer.headers['content-type']?.startsWith('text/event-stream');
    if (!isStream || !response.body) return { stream, answer: { ...answer, body: textOrJson(await response.text()) } };
    void stream.read(response.body);
    return { stream, answer };
  }

  state(): Json {
    const { comments, lastEventId: cursor } = this;
    return stateOf(this.messages, { answer: this.answer, comments, cursor, ended: this.ended ?? null });
  }

  close(): void {
    this.ended ??= 'closed';
    this.leaving.abort();
  }

  private async read(body: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const block of eventBlocks(body)) this.take(block);
      this.ended ??= 'the node ended the answer';
    } catch (error) {
      this.ended ??= String(error);
    }
  }

  private take({ comments, fields }: EventBlock): void {
    this.comments += comments;
    const id = fields.get('id');
    if (id !== undefined) this.lastEventId = id;
    const data = fields.get('data');
    if (data === undefined) return;
    const message = { name: fields.get('event') ?? 'message', payload: textOrJson(data) };
    this.messages.push({ ...message, id, retry: fields.get('retry') });
  }
}

/** Returns the value that a text has as JSON; the text itself if it is none. */
export const textOrJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};
