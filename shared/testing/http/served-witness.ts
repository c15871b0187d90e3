import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Checkpoint } from '../../transparency-log/checkpoint.ts';
import { RemoteLog } from '../../transparency-log/remote-log.ts';
import { COSIGNATURE, NoteSigner, parseVkey, vkeyOf } from '../../transparency-log/signed-note.ts';
import { SIZE_TYPE, sizeBody } from '../../transparency-log/witnesses/add-checkpoint.ts';
import { NotToCosign, Witness } from '../../transparency-log/witnesses/witness.ts';

/** Answers a request in place of the witness. */
export type Misbehaviour = (response: ServerResponse, witness: ServedWitness) => void;

/** Somebody else's witness over HTTP (C2SP tlog-witness), in memory: honest, until a spec tells it to be otherwise. */
export class ServedWitness {
  readonly signer: NoteSigner;
  /** The bodies of all requests. */
  readonly requests: string[] = [];
  /** The key of the log that it is a witness of. */
  logKey = '';
  misbehaves: Misbehaviour | undefined;
  private known: Checkpoint | undefined;

  private constructor(
    name: string,
    readonly url: string,
    private readonly close: () => void,
  ) {
    this.signer = new NoteSigner(name, Buffer.alloc(32, name), COSIGNATURE);
  }

  static async start(name: string, port = 0): Promise<ServedWitness> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        served.answer(request.url === '/w/add-checkpoint' ? body : '', response);
      });
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const served = new ServedWitness(
      name,
      `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/w`,
      () => {
        server.closeAllConnections();
        server.close();
      },
    );
    return served;
  }

  get vkey(): string {
    return vkeyOf(this.signer.key);
  }

  /** Its part of `LOG_WITNESSES`. */
  get setting(): { url: string; vkey: string } {
    return { url: this.url, vkey: this.vkey };
  }

  /** Size of the newest checkpoint that it has cosigned. */
  get size(): number {
    return this.known?.size ?? 0;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private answer(body: string, response: ServerResponse): void {
    this.requests.push(body);
    if (this.misbehaves) {
      this.misbehaves(response, this);
      return;
    }
    try {
      const witness = new Witness(new RemoteLog('http://unused/log'), parseVkey(this.logKey), this.signer, Date.now);
      const { checkpoint, line } = witness.answer(body, this.known);
      this.known = checkpoint;
      response.end(line);
    } catch (error) {
      if (!(error instanceof NotToCosign)) throw error;
      const { status, message, knownSize } = error;
      if (knownSize === undefined) response.writeHead(status).end(message);
      else response.writeHead(status, { 'content-type': SIZE_TYPE }).end(sizeBody(knownSize));
    }
  }
}
