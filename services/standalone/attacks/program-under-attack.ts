import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect } from '@jest/globals';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import { NO_STREAM, type StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { DomainEvent } from '../../../shared/event-store/transactions/folded-streams.ts';
import { toAppend } from '../../../shared/event-store/transactions/transact.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { signIn, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { isFullSize } from '../../../shared/testing/sized.ts';
import type { CalmAnswers, CalmRequest } from './calm-client.ts';

/**
 * Node's default heap on a machine of 1 GB. With more, Node would leave more garbage for later, which is not an attack.
 */
const HEAP_MIB = 256;
/** Below the memory that an attack takes from a program without defences. */
const RSS_MIB_MAX = 800;
const NODE_OPTIONS = `--max-old-space-size=${String(HEAP_MIB)}`;
/** How often an attack is begun, until the calm client was served during one: a short one may pass while the machine is busy. */
const ATTACKS_MAX = 10;
const READ_AT_ONCE = 1_000;
/** Whatever anybody asks, the catcher and the projector append these now and then. */
const STORED_BY_ITSELF = ['ChainAdvanced', 'ChainVerified', 'HistoriesSealed'];

/** Only Linux has a second loopback address and reports a process's peak memory. */
export const describeAttack = process.platform === 'linux' ? describe : describe.skip;

/** The cost of an attack. */
export interface AttackCost {
  /** Peak resident memory of the program since it started. */
  rssMiB: number;
  /** Latencies of the answers to a client at another address: printed at full size, and never compared. */
  measured: { medianMs: number; p99Ms: number };
  /** How many answers of 200 this client got while the attack went on. */
  served: number;
  /** How many of its answers were 503, after which it asked again. */
  late: number;
  /** Its answers other than 200 and 503. */
  refused: string[];
  /** The types of the events stored meanwhile, without those that the program stores by itself. */
  stored: string[];
  /** The bytes of these events, by the id of the actor who caused them. */
  storedBytes: Record<string, number>;
}

/** Expects that other clients were served during an attack, and refused nothing. */
export const expectOthersServed = ({ served, refused }: AttackCost): void => {
  expect(refused).toEqual([]);
  expect(served).toBeGreaterThan(0);
};

/**
 * Expects that the program is alive, has memory left, serves other clients, and stored nothing for an unknown attacker.
 */
export const expectWithinBudgets = (cost: AttackCost): void => {
  expectOthersServed(cost);
  expect(cost.rssMiB).toBeLessThanOrEqual(RSS_MIB_MAX);
  expect(cost.stored).toEqual([]);
};

/**
 * The real `npm start` with the default limits, and a calm client at 127.0.0.1; attackers come from another address.
 */
export class ProgramUnderAttack {
  private constructor(
    readonly program: RunningProgram,
    private readonly dataFolder: string,
    /** The user of the calm client. */
    readonly user: SignedIn,
  ) {}

  static async start(dataFolder: string, settings: Record<string, string> = {}): Promise<ProgramUnderAttack> {
    const program = await RunningProgram.start(dataFolder, { RATE_LIMITS: '', ...settings, NODE_OPTIONS });
    return new ProgramUnderAttack(program, dataFolder, await signIn(program.development));
  }

  get development(): DevelopmentFile {
    return this.program.development;
  }

  /**
   * Runs an attack while the calm client sends requests.
   * @param calmly the client's requests, one after the other; default: its user, the registered contracts, and the
   * service's status
   */
  async during(attack: () => Promise<unknown>, calmly = this.someRequests()): Promise<AttackCost> {
    const events = new SqliteEventStore(join(this.dataFolder, 'events.db'));
    try {
      const before = await events.head();
      const client = new Worker(new URL('./calm-client.ts', import.meta.url), { workerData: calmly });
      const whole = Promise.withResolvers<CalmAnswers>();
      let served = 0;
      client.on('message', (message: CalmAnswers | 'served') => {
        if (message === 'served') served += 1;
        else whole.resolve(message);
      });
      client.on('error', whole.reject);
      let attacks = 0;
      for (; attacks < ATTACKS_MAX && served === 0; attacks += 1) await attack();
      const servedMeanwhile = served;
      client.postMessage('stop');
      const { tookMs, late, refused } = await whole.promise;
      const all = await eventsAfter(events, before);
      const stored = all.filter(({ type }) => !STORED_BY_ITSELF.includes(type));
      const cost = {
        rssMiB: this.peakRssMiB(),
        measured: { medianMs: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99) },
        ...{ served: servedMeanwhile, late, refused },
        stored: stored.map(({ type }) => type),
        storedBytes: bytesByActor(stored),
      };
      process.stdout.write(
        `attacks until the calm client was served: ${String(attacks)}; its answers of 503: ${String(late)}\n`,
      );
      if (isFullSize) console.info(JSON.stringify({ ...cost, stored: cost.stored.length, load: loadavg() }));
      return cost;
    } finally {
      await events.close();
    }
  }

  /** Appends events to a stream, as an earlier attack would have. */
  async append(stream: string, events: readonly DomainEvent[]): Promise<void> {
    const store = new SqliteEventStore(join(this.dataFolder, 'events.db'));
    try {
      const [newest] = await store.read(stream, { direction: 'backwards', limit: 1 });
      const metadata = { correlationId: 'earlier', actor: { type: 'user', id: this.user.userId } } as const;
      const appended = events.map((event) => toAppend(event, metadata, { clock: systemClock, ids: systemIds }));
      await store.append(stream, newest?.revision ?? NO_STREAM, appended);
    } finally {
      await store.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // If killed, the program would leave its local chain running.
    await this.program.stop();
  }

  private someRequests(): CalmRequest[] {
    const { accountUrl, eventUrl } = this.development;
    const paths = [
      `${accountUrl}/user/${this.user.userId}`,
      `${eventUrl}/api/v1/contracts`,
      `${accountUrl}/universal-account`,
    ];
    return paths.map((url) => ({ url, headers: this.user.bearer }));
  }

  private peakRssMiB(): number {
    const { child, logs } = this.program;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the attack ended it\n${logs}`);
    const status = readFileSync(`/proc/${String(child.pid)}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
  }
}

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * part)] ?? NaN;

const eventsAfter = async (store: SqliteEventStore, after: number): Promise<StoredEvent[]> => {
  const { events, position, caughtUp } = await store.readAll(after, undefined, READ_AT_ONCE);
  return caughtUp ? events : [...events, ...(await eventsAfter(store, position))];
};

const bytesByActor = (events: readonly StoredEvent[]): Record<string, number> => {
  const byActor = Map.groupBy(events, ({ metadata }) => metadata.actor.id);
  const bytes = (of: readonly StoredEvent[]) => of.reduce((sum, event) => sum + bytesOf(event), 0);
  return Object.fromEntries(Array.from(byActor, ([id, of]) => [id, bytes(of)]));
};

const bytesOf = ({ stream, id, type, dataText, metadata }: StoredEvent): number =>
  Buffer.byteLength([stream, id, type, dataText, JSON.stringify(metadata)].join(''));
