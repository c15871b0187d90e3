import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Not an address that counts as local: what is there is asked as a provider elsewhere is. */
const HOST = '127.0.0.2';

/** A provider before a node: it passes on what it is asked, unless it is told not to. */
export class ProviderGateway {
  /** The bodies of the requests, in their order. */
  readonly asked: string[] = [];
  /** What it answers instead of what the node says. */
  answer: (body: string, honest: () => Promise<string>) => Promise<string> = (_body, honest) => honest();

  private constructor(private readonly server: Server) {}

  static async start(nodeUrl: string): Promise<ProviderGateway> {
    const server = createServer();
    const gateway = new ProviderGateway(server);
    server.on('request', (request, response) => {
      const serve = async () => {
        const body = await text(request);
        gateway.asked.push(body);
        const headers = { 'content-type': 'application/json' };
        const honest = async () => (await fetch(nodeUrl, { method: 'POST', headers, body })).text();
        response.writeHead(200, headers).end(await gateway.answer(body, honest));
      };
      serve().catch(() => response.destroy());
    });
    server.listen(0, HOST);
    await once(server, 'listening');
    return gateway;
  }

  get url(): string {
    return `http://${HOST}:${String((this.server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** The answer of a provider that has nothing in the place of what these methods return: empty lists, and `null`. */
export const hiding =
  (...methods: readonly string[]): ProviderGateway['answer'] =>
  async (body, honest) => {
    const requests = [JSON.parse(body)].flat() as { id: unknown; method: string }[];
    const hidden = new Set(requests.filter(({ method }) => methods.includes(method)).map(({ id }) => id));
    const answer = JSON.parse(await honest()) as Envelope | Envelope[];
    const hide = (envelope: Envelope) =>
      hidden.has(envelope.id) ? { ...envelope, result: Array.isArray(envelope.result) ? [] : null } : envelope;
    return JSON.stringify(Array.isArray(answer) ? answer.map(hide) : hide(answer));
  };

interface Envelope {
  id: unknown;
  result: unknown;
}
