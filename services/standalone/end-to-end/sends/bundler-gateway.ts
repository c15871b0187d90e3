import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const sendOperation = z.object({
  method: z.literal('eth_sendUserOperation'),
  params: z.tuple([z.record(z.string(), z.string()), z.string()]),
});
export type AskedOperation = z.infer<typeof sendOperation>['params'][0];

interface BundlerBehind {
  url: string;
  headers: Record<string, string>;
}

const CREDENTIALS = 'annals:a password';

/** An ERC-7769 bundler whose clients have a password. Forwards operations, unless it is told otherwise. */
export class BundlerGateway {
  /** The operations that it received, in order. */
  readonly given: AskedOperation[] = [];
  /** Its own answer; `undefined`: that of the bundler behind it. */
  answer: (operation: AskedOperation) => object | undefined = () => undefined;

  private constructor(
    private readonly server: Server,
    private readonly behind: BundlerBehind,
  ) {}

  static async start(behind: BundlerBehind): Promise<BundlerGateway> {
    const server = createServer();
    const gateway = new BundlerGateway(server, behind);
    server.on('request', (request, response) => {
      const expected = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
      if (request.headers.authorization === expected) void text(request).then((body) => gateway.serve(body, response));
      else response.writeHead(401).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return gateway;
  }

  get host(): string {
    return `127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get url(): string {
    return `http://${CREDENTIALS.replace(' ', '%20')}@${this.host}/rpc`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(body: string, response: ServerResponse): Promise<void> {
    const [operation] = sendOperation.parse(JSON.parse(body)).params;
    this.given.push(operation);
    const answer = this.answer(operation);
    if (answer) {
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }));
      return;
    }
    const headers = { 'content-type': 'application/json', ...this.behind.headers };
    const answered = await fetch(this.behind.url, { method: 'POST', headers, body });
    response.writeHead(answered.status).end(await answered.text());
  }
}
