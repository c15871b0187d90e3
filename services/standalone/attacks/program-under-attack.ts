import { once } from 'node:events';
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
const MEDIAN_MS_MAX = 50;
const READ_AT_ONCE = 1_000;
/** Whatever anybody asks, the catcher and the projector append these now and then. */
const STORED_BY_ITSELF = ['ChainAdvanced', 'ChainVerified', 'HistoriesSealed'];

/** Only Linux has a second loopback address and reports a process's peak memory. */
export const describeAttack = process.platform === 'linux' ? describe : describe.skip;

/** The cost of an attack. */
export interface AttackCost {
  /** Peak resident memory of the program since it started. */
  rssMiB: number;
  /**
   * Latencies of the answers to a client at another address: at full size, on a quiet machine, by the clock; otherwise
   * by a stopwatch.
   */
  promised: { medianMs: number; p99Ms: number };
  /** Answers to this client other than 200. */
  refused: string[];
  /** The types of the events stored meanwhile, without those that the program stores by itself. */
  stored: string[];
  /** The bytes of these events, by the id of the actor who caused them. */
  storedBytes: Record<string, number>;
}

/**
 * Expects that the program is alive, has memory left, serves other clients, and stored nothing for an unknown attacker.
 * The latency depends on the load of the machine, so it is limited only at full size, which is started on a quiet one.
 */
export const expectWithinBudgets = ({ rssMiB, promised, refused, stored }: AttackCost): void => {
  expect(refused).toEqual([]);
  expect(rssMiB).toBeLessThanOrEqual(RSS_MIB_MAX);
  if (isFullSize) expect(promised.medianMs).toBeLessThanOrEqual(MEDIAN_MS_MAX);
  expect(stored).toEqual([]);
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
      await attack();
      client.postMessage('stop');
      const [answers] = (await once(client, 'message')) as [CalmAnswers];
      const timed = isFullSize ? answers.tookMs : answers.passedMs;
      const all = await eventsAfter(events, before);
      const stored = all.filter(({ type }) => !STORED_BY_ITSELF.includes(type));
      const cost = {
        rssMiB: this.peakRssMiB(),
        promised: { medianMs: quantile(timed, 0.5), p99Ms: quantile(timed, 0.99) },
        refused: answers.refused,
        stored: stored.map(({ type }) => type),
        storedBytes: bytesByActor(stored),
      };
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
