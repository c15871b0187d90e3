import { problem } from '../../../schemas/http/problem.ts';
import { streamPage, streamRoutes, type StreamPage } from '../../../schemas/http/stream/stream-routes.ts';
import { streamMessages, type StreamEvent, type StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import { eventBlocks } from '../../../shared/client/conformance/readers/event-blocks.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { CHAIN_ID } from './fake-catcher.ts';

interface Asked {
  contractAddress: string;
  /** Parameters besides those of the channel. */
  query?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Returns the address of the stream's route for a channel. */
export const streamAddress = (url: string, { contractAddress, query = {} }: Asked): URL => {
  const address = new URL(url + streamRoutes.readStream.path);
  const channel = { chainId: String(CHAIN_ID), contractAddress, eventSignature: 'Transfer' };
  for (const [name, value] of Object.entries({ ...channel, ...query })) address.searchParams.set(name, value);
  return address;
};

/** Asks for a page, as `curl` would. */
export const askPage = (url: string, asked: Asked): Promise<Response> =>
  fetch(streamAddress(url, asked), { headers: asked.headers ?? {} });

/** Asks for a page, which must be answered. */
export const readPage = async (url: string, asked: Asked): Promise<StreamPage> => {
  const answer = await askPage(url, asked);
  const body: unknown = await answer.json();
  if (answer.status !== 200) throw new Error(JSON.stringify(body));
  return streamPage.parse(body);
};

/** Asks for a page, which must be refused. @returns status and code */
export const refusalOfPage = async (url: string, asked: Asked): Promise<[status: number, code: string]> => {
  const answer = await askPage(url, asked);
  return [answer.status, problem.parse(await answer.json()).code];
};

interface ServerSentEvent {
  id: string | undefined;
  retry: string | undefined;
  name: string | undefined;
  data: unknown;
}

/** Yields server-sent events as they come, with their data read as JSON, and what says only where the client is. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  for await (const { comments, fields } of eventBlocks(body)) {
    if (comments > 0) continue;
    const data = fields.get('data');
    yield {
      ...{ id: fields.get('id'), retry: fields.get('retry'), name: fields.get('event') },
      data: data === undefined ? undefined : (JSON.parse(data) as unknown),
    };
  }
}

/** A client of server-sent events that keeps everything it was sent. */
export class EventStreamClient {
  readonly blocks: ServerSentEvent[] = [];
  hasEnded = false;
  /** Resolves when the stream has ended, whoever ended it. */
  readonly ended: Promise<void>;

  private constructor(
    readonly headers: Headers,
    private readonly leaving: AbortController,
    { body, onEvent }: { body: AsyncIterable<Uint8Array>; onEvent: (event: StreamEvent) => void },
  ) {
    this.ended = this.read(body, onEvent);
  }

  /** @param onEvent called with each event as it comes */
  static async open(
    url: string,
    asked: Asked,
    onEvent: (event: StreamEvent) => void = () => undefined,
  ): Promise<EventStreamClient> {
    const leaving = new AbortController();
    const headers = { accept: 'text/event-stream', ...asked.headers };
    const answer = await fetch(streamAddress(url, asked), { headers, signal: leaving.signal });
    if (answer.status !== 200 || !answer.body) throw new Error(await answer.text());
    return new EventStreamClient(answer.headers, leaving, { body: answer.body, onEvent });
  }

  private async read(body: AsyncIterable<Uint8Array>, onEvent: (event: StreamEvent) => void): Promise<void> {
    try {
      for await (const block of serverSentEvents(body)) {
        this.blocks.push(block);
        if (block.name === 'event') onEvent(streamMessages.event.parse(block.data));
      }
    } catch (error) {
      // A node that stops, or a proxy, cuts the connection, which fetch calls a TypeError.
      if (!this.leaving.signal.aborted && !(error instanceof TypeError)) throw error;
    } finally {
      this.hasEnded = true;
    }
  }

  get lastEventId(): string | undefined {
    return this.blocks.findLast(({ id }) => id !== undefined)?.id;
  }

  /** The messages with this name, parsed by their schema. */
  messages<Name extends keyof StreamMessages>(name: Name): StreamMessages[Name][] {
    const found = this.blocks.filter((block) => block.name === name);
    return found.map(({ data }) => streamMessages[name].parse(data) as StreamMessages[Name]);
  }

  async waitForEvents(count: number): Promise<StreamEvent[]> {
    await eventually(() => this.messages('event').length >= count, 20_000, `${String(count)} events must come`);
    return this.messages('event');
  }

  async waitForMessage<Name extends keyof StreamMessages>(name: Name): Promise<StreamMessages[Name]> {
    const found = await eventually(() => this.messages(name)[0], 20_000, `the message ${name} must come`);
    return found;
  }

  waitForEnd(): Promise<boolean> {
    return eventually(() => this.hasEnded, 20_000, 'the server must end the stream');
  }

  close(): void {
    this.leaving.abort();
  }
}
