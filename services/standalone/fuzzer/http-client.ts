import { Agent, request as ask, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

export interface HttpRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer | undefined;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends requests over connections that are kept: `fetch` takes several times as long. */
export class HttpClient {
  private readonly agent = new Agent({ keepAlive: true });

  async send(url: string, { method, path, headers, body }: HttpRequest): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const { hostname: host, port } = new URL(url);
    const length = body && { 'content-length': String(body.length) };
    const options = { host, port, method, path, headers: { ...length, ...headers }, agent: this.agent };
    ask(options, (answer) => {
      const { statusCode: status = 0, headers: received } = answer;
      text(answer).then((whole) => resolve({ status, headers: received, text: whole }), reject);
    })
      .on('error', reject)
      .end(body);
    return promise;
  }

  close(): void {
    this.agent.destroy();
  }
}
