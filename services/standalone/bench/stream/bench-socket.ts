import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { STREAM_NAMESPACE } from '../../../../schemas/socket/stream-messages.ts';

export interface Listeners {
  /** @param json what follows the name of an event, up to the end of the packet: `{…}]` */
  event: (json: Buffer) => void;
  /** Any other message. */
  message?: (name: string, given: unknown) => void;
  closed?: () => void;
}

const FINAL_TEXT = 0x81;
const MASKED = 0x80;
const HEADERS_END = '\r\n\r\n';
const EVENT = Buffer.from(`42${STREAM_NAMESPACE},["event",`);
const MESSAGE = `42${STREAM_NAMESPACE},`;
const CONNECTED = `40${STREAM_NAMESPACE}`;
const REFUSED = `44${STREAM_NAMESPACE},`;
const ACKNOWLEDGED = `43${STREAM_NAMESPACE},`;
const ANSWER_WITHIN_MS = 60_000;

/**
 * A Socket.IO client over a plain TCP socket. It decodes only what is not an `event`, so that ten thousand of them take
 * less of the machine than the server that is measured.
 */
export class BenchSocket {
  private rest: Buffer = Buffer.alloc(0);
  private isUpgraded = false;
  private acknowledgements = 0;
  private readonly waiting = new Map<number, (answer: unknown) => void>();
  private readonly connecting = Promise.withResolvers<undefined>();

  private constructor(
    private readonly socket: Socket,
    private readonly token: string,
    private readonly listeners: Listeners,
  ) {
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.connecting.reject(new Error('the server closed the socket'));
      listeners.closed?.();
    });
  }

  /** @throws the refusal of the server */
  static async connect(url: string, token: string, listeners: Listeners): Promise<BenchSocket> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    const client = new BenchSocket(socket, token, listeners);
    socket.write(
      [
        'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
        `host: ${hostname}:${port}`,
        'connection: Upgrade',
        'upgrade: websocket',
        `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
        'sec-websocket-version: 13',
      ].join('\r\n') + HEADERS_END,
    );
    await client.connecting.promise;
    return client;
  }

  /** Sends a command. @returns the acknowledgement */
  async command(name: string, payload: object): Promise<Record<string, unknown>> {
    const id = (this.acknowledgements += 1);
    const answered = Promise.withResolvers<unknown>();
    const timeout = setTimeout(() => {
      answered.reject(new Error(`${name} was not answered`));
    }, ANSWER_WITHIN_MS);
    this.waiting.set(id, answered.resolve);
    this.send(`42${STREAM_NAMESPACE},${String(id)}${JSON.stringify([name, payload])}`);
    try {
      return (await answered.promise) as Record<string, unknown>;
    } finally {
      clearTimeout(timeout);
    }
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Ends as a lost connection does. */
  cut(): void {
    this.socket.destroy();
  }

  /** A mask of zeros leaves the text as it is. */
  private send(text: string): void {
    const payload = Buffer.from(text);
    const { length } = payload;
    const header = Buffer.from(
      length < 126 ? [FINAL_TEXT, MASKED | length] : [FINAL_TEXT, MASKED | 126, length >> 8, length & 0xff],
    );
    this.socket.write(Buffer.concat([header, Buffer.alloc(4), payload]));
  }

  private read(chunk: Buffer): void {
    let data = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    if (!this.isUpgraded) {
      const end = data.indexOf(HEADERS_END);
      if (end >= 0) {
        this.isUpgraded = true;
        data = data.subarray(end + HEADERS_END.length);
      }
    }
    this.rest = this.isUpgraded ? this.readFrames(data) : data;
  }

  /** @returns the beginning of a frame that is not whole yet */
  private readFrames(data: Buffer): Buffer {
    let at = 0;
    while (data.length - at >= 2) {
      const short = data[at + 1] ?? 0;
      const header = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (data.length - at < header) break;
      let { length } = { length: short };
      if (header === 4) length = data.readUInt16BE(at + 2);
      if (header === 10) length = Number(data.readBigUInt64BE(at + 2));
      if (data.length - at < header + length) break;
      if (data[at] === FINAL_TEXT) this.take(data.subarray(at + header, at + header + length));
      at += header + length;
    }
    return data.subarray(at);
  }

  private take(packet: Buffer): void {
    if (packet.length > EVENT.length && packet.compare(EVENT, 0, EVENT.length, 0, EVENT.length) === 0) {
      this.listeners.event(packet.subarray(EVENT.length));
      return;
    }
    const text = packet.toString();
    if (text.startsWith('0')) this.send(`${CONNECTED},${JSON.stringify({ token: this.token })}`);
    else if (text === '2') this.send('3');
    else if (text.startsWith(CONNECTED)) this.connecting.resolve(undefined);
    else if (text.startsWith(REFUSED)) this.connecting.reject(new Error(text.slice(REFUSED.length)));
    else if (text.startsWith(ACKNOWLEDGED)) this.acknowledge(text.slice(ACKNOWLEDGED.length));
    else if (text.startsWith(MESSAGE)) {
      const [name, given] = JSON.parse(text.slice(MESSAGE.length)) as [string, unknown];
      this.listeners.message?.(name, given);
    }
  }

  private acknowledge(text: string): void {
    const id = parseInt(text, 10);
    const [answer] = JSON.parse(text.slice(text.indexOf('['))) as unknown[];
    this.waiting.get(id)?.(answer);
    this.waiting.delete(id);
  }
}

const SENT_AT = '"sentAt":';

/** Returns how long ago an event was published, by the time that its publisher has put into it. */
export const ageMs = (json: Buffer): number => {
  const at = json.indexOf(SENT_AT) + SENT_AT.length;
  return performance.now() - Number.parseFloat(json.toString('latin1', at, at + 20));
};
