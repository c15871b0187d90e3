import { Backoff } from '../../primitives/waiting/backoff.ts';
import { WakeUp } from '../../primitives/waiting/wake-up.ts';
import { EndpointAddress } from './endpoints/endpoint-address.ts';

const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 5_000;
/** A connection without announcements for this long is given up. */
const SILENT_MAX_MS = 120_000;
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] });

/**
 * Listens to a WebSocket endpoint's announcements of new blocks (`eth_subscribe newHeads`): a hint to poll now, never a
 * source of blocks. Switches to the next endpoint when a connection ends, fails or is silent.
 */
export class NewHeads {
  readonly announced = new WakeUp();
  /** Time of `performance.now()`. */
  private announcedAtMs = -Infinity;
  private listening = false;
  private readonly closing = new AbortController();
  private readonly silentMaxMs: number;
  private readonly running: Promise<void>;

  constructor(
    urls: readonly string[] = [],
    {
      silentMaxMs = SILENT_MAX_MS,
      firstPauseMs = FIRST_PAUSE_MS,
    }: { silentMaxMs?: number; firstPauseMs?: number } = {},
  ) {
    this.silentMaxMs = silentMaxMs;
    this.running = this.run(
      urls.map((url) => new EndpointAddress(url)),
      new Backoff(firstPauseMs, PAUSE_MAX_MS),
    );
  }

  /** Whether an endpoint has accepted the subscription, and the connection lasts. */
  get isListening(): boolean {
    return this.listening;
  }

  /** How long ago a block was announced; `Infinity` if none ever was. */
  get announcedAgoMs(): number {
    return performance.now() - this.announcedAtMs;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.running;
  }

  private async run(addresses: readonly EndpointAddress[], backoff: Backoff): Promise<void> {
    const { signal } = this.closing;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const address = addresses[attempt % addresses.length];
      if (!address) return;
      const { rung } = this.announced;
      await this.listen(address);
      if (this.announced.rung > rung) backoff.reset();
      await backoff.pause(signal);
    }
  }

  /** Returns when the connection has ended, or has been silent for long. */
  private async listen({ url, headers }: EndpointAddress): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const ended = () => {
      resolve(undefined);
    };
    const { signal } = this.closing;
    const silent = setTimeout(ended, this.silentMaxMs);
    const socket = new WebSocket(url, { headers });
    socket.addEventListener('open', () => {
      socket.send(SUBSCRIBE);
    });
    const take = ({ data }: MessageEvent) => {
      if (typeof data !== 'string') return;
      this.listening ||= data.includes('"result"');
      if (!data.includes('"eth_subscription"')) return;
      silent.refresh();
      this.announcedAtMs = performance.now();
      this.announced.ring();
    };
    socket.addEventListener('message', take);
    for (const name of ['error', 'close']) socket.addEventListener(name, ended);
    signal.addEventListener('abort', ended);
    await promise;
    signal.removeEventListener('abort', ended);
    clearTimeout(silent);
    socket.removeEventListener('message', take);
    this.listening = false;
    socket.close();
  }
}
