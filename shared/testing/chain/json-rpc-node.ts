import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { MemoryChain } from './chain-reader.memory.ts';
import { NodeAnswers } from './node-answers.ts';

/** Serves a chain in memory over JSON-RPC. Its answers are true unless a test changes them. */
export class JsonRpcNode extends NodeAnswers {
  /** The header of the newest request. */
  authorization: string | undefined;
  /** Answers the HTTP request itself; `honest` is the true answer. */
  respond: ((response: ServerResponse, honest: string) => void) | undefined;

  private constructor(
    chain: MemoryChain,
    private readonly server: Server,
  ) {
    super(chain);
  }

  static async start(chain: MemoryChain): Promise<JsonRpcNode> {
    const server = createServer();
    const node = new JsonRpcNode(chain, server);
    server.on('request', (request, response) => {
      node.authorization = request.headers.authorization;
      void text(request).then((body) => node.serve(body, response));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(body: string, response: ServerResponse): Promise<void> {
    const honest = await this.answerTo(body);
    if (this.respond) this.respond(response, honest);
    else response.setHeader('content-type', 'application/json').end(honest);
  }
}
