import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Not a local address: the catcher treats it as a remote provider. */
const ELSEWHERE = '127.0.0.2';
/** A local address, which is polled as often as a node of this machine. */
const HERE = '127.0.0.1';

/** Status and headers of a provider's answer. */
export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

type Honest = () => Promise<string>;

/** A provider in front of a node: forwards requests, unless it is told otherwise. */
export class ProviderGateway {
  /** The bodies of the requests, in their order. */
  readonly asked: string[] = [];
  /** Changes the answer; `honest` is the node's. */
  answer: (body: string, honest: Honest) => Promise<string | HttpAnswer> = (_body, honest) => honest();

  private constructor(
    private readonly server: Server,
    /** The node. */
    public nodeUrl: string,
  ) {}

  static async start(nodeUrl: string, where: 'here' | 'elsewhere' = 'elsewhere'): Promise<ProviderGateway> {
    const server = createServer();
    const gateway = new ProviderGateway(server, nodeUrl);
    server.on('request', (request, response) => {
      const serve = async () => {
        const body = await text(request);
        gateway.asked.push(body);
        const headers = { 'content-type': 'application/json' };
        const honest = async () => (await fetch(gateway.nodeUrl, { method: 'POST', headers, body })).text();
        const answer = await gateway.answer(body, honest);
        const http = typeof answer === 'string' ? { status: 200, body: answer } : answer;
        response.writeHead(http.status, { ...headers, ...http.headers }).end(http.body);
      };
      serve().catch(() => response.destroy());
    });
    server.listen(0, where === 'here' ? HERE : ELSEWHERE);
    await once(server, 'listening');
    return gateway;
  }

  get url(): string {
    const { address, port } = this.server.address() as AddressInfo;
    return `http://${address}:${String(port)}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** The answers of a provider that hides the results of these methods: empty lists, and `null`. */
export const hiding = (...methods: readonly string[]): ProviderGateway['answer'] =>
  changing(({ method }, result) => (methods.includes(method) ? nothingInsteadOf(result) : result));

/** The answers of a provider that changes those of its node. */
export const changing =
  (change: (asked: RpcRequest, result: unknown) => unknown): ProviderGateway['answer'] =>
  async (body, honest) => {
    const requests = new Map(requestsIn(body).map((request) => [request.id, request]));
    const answer = JSON.parse(await honest()) as Envelope | Envelope[];
    const changed = (envelope: Envelope): Envelope => {
      const asked = requests.get(envelope.id);
      return asked && 'result' in envelope ? { ...envelope, result: change(asked, envelope.result) } : envelope;
    };
    return JSON.stringify(Array.isArray(answer) ? answer.map(changed) : changed(answer));
  };

/** The answers of a node that refuses some requests. If it refuses all of a body, its node is not asked. */
export const refusing =
  (refusalOf: (asked: RpcRequest) => RpcRefusal | undefined) =>
  async (body: string, honest: Honest): Promise<string> => {
    const requests = requestsIn(body);
    const refused = new Map(requests.flatMap((request) => refusalEntry(request, refusalOf(request))));
    if (refused.size === 0) return honest();
    const honestly = refused.size === requests.length ? [] : [JSON.parse(await honest())].flat();
    const byId = new Map((honestly as Envelope[]).map((envelope) => [envelope.id, envelope]));
    const answers = requests.map(({ id }) => refused.get(id) ?? byId.get(id));
    return JSON.stringify(body.startsWith('[') ? answers : answers[0]);
  };

const refusalEntry = ({ id }: RpcRequest, error: RpcRefusal | undefined): [unknown, object][] =>
  error ? [[id, { jsonrpc: '2.0', id, error }]] : [];

export interface RpcRefusal {
  code: number;
  message: string;
}

/** The requests in a body, one or several. */
export const requestsIn = (body: string): RpcRequest[] => [JSON.parse(body)].flat() as RpcRequest[];

const nothingInsteadOf = (result: unknown): unknown => (Array.isArray(result) ? [] : null);

export interface RpcRequest {
  id: unknown;
  method: string;
  params: unknown[];
}

interface Envelope {
  id: unknown;
  result?: unknown;
}
