import { AnnalsError, readRefusal } from './annals-error.ts';
import { laterPosition } from './later-position.ts';
import { routeTable, type RouteOfTable } from './routes.ts';

export interface ServiceUrls {
  accountUrl: string;
  eventUrl: string;
  /** Without it, `events` connects to the nodes that the gateway of `eventUrl` names for a contract. */
  streamUrl?: string | undefined;
}

export interface RequestInput {
  params?: object | undefined;
  query?: object | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

/** A request as it goes out. */
export interface PreparedRequest {
  route: RouteOfTable;
  url: URL;
  /** JSON; empty where there is none. */
  body: string;
  signal: AbortSignal | undefined;
}

/** Longer than the longest wait that a route offers. After that the connection is taken to be dead. */
const ANSWERED_WITHIN_MS = 45_000;
const NO_CONTENT = 204;

/** Sends requests of the interface, each once, and reads what it has written. */
export class Transport {
  private position: string | undefined;

  constructor(private readonly urls: ServiceUrls) {}

  prepare(name: string, { params, query, body, signal }: RequestInput): PreparedRequest {
    const route = routeTable[name];
    if (!route) throw new AnnalsError('route_not_found', `there is no route ${name}`);
    const values = new Map(entriesOf(params));
    const path = route.path.replaceAll(/\{(\+?)(\w+)\}/g, (_, plus: string, member: string) => {
      const value = values.get(member) ?? '';
      return plus === '' ? encodeURIComponent(value) : value;
    });
    const url = new URL(this.baseOf(route).replace(/\/$/, '') + path);
    url.search = new URLSearchParams(entriesOf(query)).toString();
    return { route, url, body: body === undefined ? '' : JSON.stringify(body), signal };
  }

  /** @throws AnnalsError, and what the signal aborts with */
  async send({ route, url, body, signal }: PreparedRequest, headers: Record<string, string>): Promise<unknown> {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new AnnalsError('network_error', `${url.host} did not answer`));
    }, ANSWERED_WITHIN_MS);
    try {
      const answer = await fetch(url, {
        method: route.method,
        headers: {
          ...headers,
          ...(body !== '' && { 'content-type': 'application/json' }),
          ...(route.method === 'GET' && this.position !== undefined && { 'x-min-position': this.position }),
        },
        ...(body !== '' && { body }),
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      });
      // If answers overtake each other, the greatest position counts, also that of a refusal.
      this.position = laterPosition(this.position, answer.headers.get('x-position') ?? undefined);
      return await read(answer, route.answerType);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof AnnalsError) throw error;
      throw new AnnalsError('network_error', `${url.host} cannot be reached, or did not finish`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  private baseOf({ service }: RouteOfTable): string {
    const { accountUrl, eventUrl, streamUrl } = this.urls;
    const url = { account: accountUrl, 'event-catcher': eventUrl, stream: streamUrl }[service];
    if (url === undefined) throw new AnnalsError('route_not_found', 'the routes of the stream need streamUrl');
    return url;
  }
}

const read = async (answer: Response, type: RouteOfTable['answerType']): Promise<unknown> => {
  if (!answer.ok) throw await refusalIn(answer);
  if (answer.status === NO_CONTENT) return undefined;
  if (type === 'application/x-ndjson') return linesOf(answer);
  if (type === 'application/octet-stream') return new Uint8Array(await answer.arrayBuffer());
  return type === undefined ? await answer.json() : await answer.text();
};

const refusalIn = async (answer: Response): Promise<AnnalsError> => {
  const given: unknown = await answer.json().catch(() => undefined);
  const { status, url } = answer;
  return (
    readRefusal(given) ??
    new AnnalsError('unexpected_answer', `${url} answered ${String(status)}`, { status, cause: given })
  );
};

async function* linesOf({ body }: Response): AsyncGenerator<unknown, void> {
  if (!body) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of chunksOf(body)) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as unknown;
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as unknown;
}

/** Not every browser iterates over a stream by itself. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}

const entriesOf = (values: object | undefined): [string, string][] =>
  Object.entries(values ?? {})
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, String(value)]);
