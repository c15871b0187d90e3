import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { BenchSocket } from './bench-socket.ts';
import { subscribeTo } from './stream-sizes.ts';

const RETRY_MS = 200;

interface Delivered {
  cursor: string;
  event: { Data: { n: number; sentAt: number } };
}

/** A client that keeps its cursor, comes back with it when it was cut, and takes each event once, by its cursor. */
export class FollowingClient {
  /** The numbers of events, in the order in which they came. */
  readonly taken: number[] = [];
  readonly tookMs: number[] = [];
  /** Events that came again. */
  repeated = 0;
  private readonly known = new Set<string>();
  private socket: BenchSocket | undefined;
  private cursor: string | undefined;
  private liveSince = Infinity;
  private triedUrl = '';

  /** @param where a node, or a function that returns the node to try; each `connect` counts its attempts from 0 */
  constructor(
    private readonly where: string | ((attempt: number) => Promise<string>),
    private readonly token: string,
    readonly contract: string,
  ) {}

  /** The node of the last attempt to connect. */
  get url(): string {
    return this.triedUrl;
  }

  get last(): number {
    return this.taken.at(-1) ?? 0;
  }

  get isLive(): boolean {
    return this.liveSince !== Infinity;
  }

  /** Connects and subscribes, again and again until it succeeds. */
  async connect(): Promise<void> {
    for (let attempt = 0; !(await this.tryToConnect(attempt)); attempt += 1) await pause(RETRY_MS);
  }

  cut(): void {
    this.socket?.cut();
    this.liveSince = Infinity;
  }

  pause(): void {
    this.socket?.pause();
  }

  private async tryToConnect(attempt: number): Promise<boolean> {
    try {
      this.triedUrl = typeof this.where === 'string' ? this.where : await this.where(attempt);
      this.socket = await BenchSocket.connect(this.triedUrl, this.token, {
        event: (json) => {
          this.take(json);
        },
        message: (name) => {
          if (name === 'live') this.liveSince = performance.now();
        },
        closed: () => {
          this.liveSince = Infinity;
        },
      });
      const given = this.cursor === undefined ? {} : { cursor: this.cursor };
      const answer = await this.socket.command('subscribe', { ...subscribeTo(this.contract), ...given });
      if (answer['ok'] !== true) throw new Error(JSON.stringify(answer));
      if (this.cursor === undefined) this.liveSince = performance.now();
      this.cursor ??= answer['cursor'] as string;
      return true;
    } catch {
      this.cut();
      await yieldToEventLoop();
      return false;
    }
  }

  private take(json: Buffer): void {
    const { cursor, event } = JSON.parse(json.toString('utf8', 0, json.length - 1)) as Delivered;
    this.cursor = cursor;
    if (this.known.has(cursor)) {
      this.repeated += 1;
      return;
    }
    this.known.add(cursor);
    this.taken.push(event.Data.n);
    // What was published while the client was away is late because of that.
    if (event.Data.sentAt > this.liveSince) this.tookMs.push(performance.now() - event.Data.sentAt);
  }
}

/** The events that are missing or out of order in what a client has taken. */
export const faultsIn = (taken: readonly number[], published: readonly number[]): number => {
  const expected = published.slice(published.indexOf(taken[0] ?? Number.NaN));
  const faults = expected.filter((n, at) => taken[at] !== n).length;
  return faults + Math.max(0, taken.length - expected.length);
};
