import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serviceUrl } from '../../../../../shared/config/service-url.ts';
import { CannotStart } from '../../../../../shared/errors/cannot-start.ts';
import { nodeErrorCode } from '../../../../../shared/errors/node-error-code.ts';
import { inTime } from '../../../../../shared/primitives/waiting/in-time.ts';
import { LogThrottle } from '../../../../../shared/primitives/log-throttle.ts';
import type { Checkpoint } from '../../../../../shared/transparency-log/checkpoint.ts';
import { WrongTiles } from '../../../../../shared/transparency-log/is-continued.ts';
import { LogAway } from '../../../../../shared/transparency-log/remote-log.ts';
import { SIZE_TYPE, sizeBody } from '../../../../../shared/transparency-log/witnesses/add-checkpoint.ts';
import { Fork, NotToCosign, type Witness } from '../../../../../shared/transparency-log/witnesses/witness.ts';
import type { Print, WitnessState } from './witness-state.ts';

/** A checkpoint with a hundred signatures has some 15 KiB, a proof at most 3 KiB. */
const REQUEST_BYTES_MAX = 64 * 1_024;
/** For a request as a whole, so that nobody holds connections open by sending slowly. */
const REQUEST_WITHIN_MS = 10_000;
const CHECK_EVERY_MS = 1_000;
const CONNECTIONS_MAX = 256;
const LAST_ANSWERS_WITHIN_MS = 500;
const TEXT = 'text/plain; charset=utf-8';

interface Serving {
  witness: Witness;
  state: WitnessState;
  print: Print;
  host: string;
  /** 0 means any free port. */
  port: number;
  signal: AbortSignal;
}

interface Answer {
  status: number;
  type?: string;
  body: string;
}

/** Takes checkpoints over HTTP (C2SP tlog-witness) until the signal aborts, or the log has forked. @throws CannotStart */
export const serveWitness = async (serving: Serving): Promise<void> => {
  const { host, port, print, signal } = serving;
  const options = {
    requestTimeout: REQUEST_WITHIN_MS,
    headersTimeout: REQUEST_WITHIN_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  };
  const answers = new WitnessAnswers(serving);
  const server = createServer(options, (request, response) => {
    void answers.handle(request, response);
  });
  server.maxConnections = CONNECTIONS_MAX;
  await listening(server, host, port);
  try {
    const url = serviceUrl(host, (server.address() as AddressInfo).port);
    print('listening', `takes checkpoints at ${url}/add-checkpoint, answers the newest at ${url}/checkpoint`, { url });
    await answers.ended(signal);
  } finally {
    const closed = once(server, 'close');
    server.close();
    await inTime(() => closed, LAST_ANSWERS_WITHIN_MS);
    server.closeAllConnections();
  }
};

/** @throws CannotStart */
const listening = async (server: Server, host: string, port: number): Promise<void> => {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (cause) {
    const where = `port ${String(port)} of ${host} cannot be listened on (${nodeErrorCode(cause) ?? String(cause)})`;
    throw new CannotStart(`${where}: set --port, or HOST, to another`, { cause });
  }
};

class WitnessAnswers {
  private readonly end = Promise.withResolvers<undefined>();
  private readonly printed = new LogThrottle();
  private readonly compared = new LogThrottle();
  private comparing: Promise<void> | undefined;

  constructor(private readonly serving: Serving) {}

  /** Returns when the signal aborts, or the log has forked. @throws what made an answer impossible, such as a full disk */
  async ended(signal: AbortSignal): Promise<void> {
    const stop = () => {
      this.end.resolve(undefined);
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop);
    try {
      await this.end.promise;
      await this.comparing;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { status, type = TEXT, body } = await this.answer(request);
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
    } catch (error) {
      response.destroy();
      // Otherwise the sender has gone, or was too slow.
      if (request.complete) this.end.reject(error);
    }
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    const { method = '', url = '' } = request;
    const route = `${method} ${url.split('?')[0] ?? ''}`;
    if (route === 'POST /add-checkpoint') {
      const body = await bodyOf(request);
      return body === undefined
        ? { status: 413, body: `a request has at most ${String(REQUEST_BYTES_MAX)} bytes\n` }
        : this.cosign(body);
    }
    const { note } = this.serving.state;
    if (route !== 'GET /checkpoint')
      return { status: 404, body: 'there are POST /add-checkpoint and GET /checkpoint\n' };
    return note === undefined ? { status: 404, body: 'nothing is cosigned yet\n' } : { status: 200, body: note };
  }

  /** Works in one piece: of two requests at once, the second is compared with what the first has stored. */
  private cosign(body: string): Answer {
    const { witness, state } = this.serving;
    try {
      const cosigned = witness.answer(body, state.checkpoint);
      state.keep(cosigned);
      return { status: 200, body: cosigned.line };
    } catch (error) {
      if (error instanceof NotToCosign) return this.refused(error);
      if (!(error instanceof Fork)) throw error;
      state.fork(error);
      this.end.resolve(undefined);
      return { status: 409, body: `${error.message}\n` };
    }
  }

  private refused({ status, message, knownSize, note }: NotToCosign): Answer {
    const { state, print } = this.serving;
    // How a log learns the size: nothing is wrong.
    if (knownSize !== undefined) return { status, type: SIZE_TYPE, body: sizeBody(knownSize) };
    if (this.printed.isDue(String(status))) print('refused', `not cosigned: ${message}`);
    // Anybody can send a wrong proof of a checkpoint that the log has signed, so that alone is no fork.
    if (note !== undefined && state.checkpoint && !this.comparing && this.compared.isDue(note)) {
      this.comparing = this.compare(state.checkpoint, note).finally(() => {
        this.comparing = undefined;
      });
    }
    return { status, body: `${message}\n` };
  }

  /** Never rejects. */
  private async compare(known: Checkpoint, note: string): Promise<void> {
    const { witness, state, print } = this.serving;
    try {
      await witness.compare(known, note);
      print(
        'refused',
        'the proof was wrong: by the tiles of the log, that checkpoint continues the one that is cosigned',
      );
    } catch (error) {
      if (error instanceof Fork) {
        state.fork(error);
        this.end.resolve(undefined);
      } else if (error instanceof LogAway || error instanceof WrongTiles) state.suspect(note, error.message);
      else this.end.reject(error);
    }
  }
}

/** @returns `undefined` for one that is too long, the rest of which is not kept */
const bodyOf = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > REQUEST_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};
