import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { latencyOf, measure, type Latency } from '../measure.ts';
import { ageMs, BenchSocket } from './bench-socket.ts';
import type { PublishedContracts } from './published-contracts.bench.ts';
import type { StreamServer } from './stream-servers.ts';
import { SECONDS, subscribeTo } from './stream-sizes.ts';

/** Sockets that connect concurrently. */
const AT_ONCE = 200;
/** Of so many sockets one measures times: reading the time costs more than the rest. */
const SAMPLED = 20;
/** Deliveries under way while the server is loaded with all that it takes. */
const UNDER_WAY = 40_000;
/** The share of raw Socket.IO's ceiling at which times are measured. */
const LOAD = 0.5;
const TICK_MS = 5;
const SETTLED_MS = 1_000;
const ARRIVE_WITHIN_MS = 60_000;

export interface FanOut {
  /** Processor time of the server for each client. */
  eachMs: { accept: number; subscribe: number };
  acceptsPerSecond: number;
  subscribersPerSecond: number;
  /** Of connection and subscriptions. */
  bytesEach: number;
  deliveriesPerSecond: number;
  /** Of the server, for a delivery. */
  processorMicroseconds: number;
  /** At the same load for each server. */
  latency: Latency;
}

export const inParallel = async <Item>(
  items: readonly Item[],
  work: (item: Item, at: number) => Promise<void>,
): Promise<void> => {
  const rest = items.entries();
  const one = async () => {
    for (const [at, item] of rest) await work(item, at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
};

/** What one server does with many sockets, all of which have all subscriptions. */
export class FannedOut {
  private readonly sockets: BenchSocket[] = [];
  private received = 0;
  private tookMs: number[] = [];

  constructor(
    private readonly server: StreamServer,
    private readonly published: PublishedContracts,
    private readonly tokens: readonly string[],
  ) {}

  /** @param load deliveries a second at which times are measured; by default half of what this server can deliver */
  async run(load?: number): Promise<FanOut> {
    const { server, tokens } = this;
    try {
      const [before, startedMs] = [server.memoryMb, server.processorMs];
      const accepts = await measure('', tokens.length, () =>
        inParallel(tokens, (token, at) => this.connect(token, at)),
      );
      const acceptedMs = server.processorMs;
      const subscribes = await measure('', tokens.length, () => this.subscribeAll());
      const subscribedMs = server.processorMs;
      await pause(SETTLED_MS);
      const bytesEach = Math.round(((server.memoryMb - before) * 1_024 * 1_024) / tokens.length);
      // Not measured: code is not compiled yet.
      await this.flatOut(SECONDS / 2);
      const usedMs = server.processorMs;
      const deliveriesPerSecond = await this.flatOut(SECONDS);
      const processorMicroseconds = ((server.processorMs - usedMs) * 1_000) / this.received;
      const latency = await this.paced(load ?? deliveriesPerSecond * LOAD);
      const eachMs = {
        accept: (acceptedMs - startedMs) / tokens.length,
        subscribe: (subscribedMs - acceptedMs) / tokens.length,
      };
      const [acceptsPerSecond, subscribersPerSecond] = [accepts.perSecond, subscribes.perSecond];
      return {
        eachMs,
        acceptsPerSecond,
        subscribersPerSecond,
        bytesEach,
        deliveriesPerSecond,
        processorMicroseconds,
        latency,
      };
    } finally {
      for (const socket of this.sockets) socket.cut();
    }
  }

  private async connect(token: string, at: number): Promise<void> {
    const isSampled = at % SAMPLED === 0;
    const event = (json: Buffer) => {
      this.received += 1;
      if (isSampled) this.tookMs.push(ageMs(json));
    };
    this.sockets.push(await BenchSocket.connect(this.server.url, token, { event }));
  }

  private async subscribeAll(): Promise<void> {
    await inParallel(this.sockets, async (socket) => {
      for (const contract of this.published.contracts) {
        const answer = await socket.command('subscribe', subscribeTo(contract));
        if (answer['ok'] !== true) throw new Error(`${this.server.name} answered ${JSON.stringify(answer)}`);
      }
    });
  }

  /** Publishes as fast as events are delivered. @returns deliveries a second */
  private async flatOut(seconds: number): Promise<number> {
    const { contracts } = this.published;
    const each = contracts.length * this.sockets.length;
    let due = 0;
    this.received = 0;
    const startedAt = performance.now();
    while (performance.now() < startedAt + seconds * 1_000) {
      if (due - this.received > Math.max(UNDER_WAY - each, each)) await pause(1);
      else {
        due += each;
        await this.published.publish(contracts);
      }
    }
    await this.allReceived(due);
    return Math.round((due / (performance.now() - startedAt)) * 1_000);
  }

  private async paced(load: number): Promise<Latency> {
    const { contracts } = this.published;
    const perSecond = load / (contracts.length * this.sockets.length);
    this.received = 0;
    this.tookMs = [];
    const startedAt = performance.now();
    let sent = 0;
    for (let seconds = 0; seconds < SECONDS; seconds = (performance.now() - startedAt) / 1_000) {
      if (sent < Math.floor(seconds * perSecond)) {
        sent += 1;
        await this.published.publish(contracts);
      } else await pause(TICK_MS);
    }
    await this.allReceived(sent * contracts.length * this.sockets.length);
    return latencyOf('', this.tookMs);
  }

  private async allReceived(count: number): Promise<void> {
    const deadline = performance.now() + ARRIVE_WITHIN_MS;
    while (this.received < count && performance.now() < deadline) await pause(1);
    if (this.received === count) return;
    throw new Error(`${this.server.name} delivered ${String(this.received)} of ${String(count)}`);
  }
}
