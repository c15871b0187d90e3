import { join } from 'node:path';
import { publicKeys } from '../../../../schemas/http/account/account-routes.ts';
import { verifyExport } from '../../../../shared/audit/verify-export.jose.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { closeEngines, openEngines, type Engines } from '../../../../shared/host/engines/engines.ts';
import { createLogger } from '../../../../shared/host/logger.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { firstIndex } from '../../../../shared/primitives/first-index.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import { ScratchStore } from '../../../../shared/read-store/embedded/scratch-store.sqlite.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { LOG } from '../../../../shared/read-models/transparency-log.ts';
import { nameInVersion } from '../../../../shared/read-store/versions/stored-versions.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { StoredLog } from '../../../../shared/transparency-log/stored-log.ts';
import { switchStored, verifyStored } from '../../../projector/projection-administration.ts';
import { verifyLoop } from '../../../projector/run-projection/verification/verify-loop.ts';
import { versionName } from '../../../projector/run-projection/versions/version-names.ts';
import { accepted, send, walletLogins, type SignedIn } from '../http-load.bench.ts';
import { aimed, latencyOf, measure, type Report } from '../measure.ts';
import { benchLog } from './log.bench.ts';
import { appendHistory, appendObservations, EVENTS, ITEMS, nameAt, SIZE } from './stored-events.ts';

const READS = 300;
const PAGE_ITEMS = 100;
const CHECKPOINTS = 20;
const COMPARED_WITHIN_MS = 120_000;
const PAUSE_MS = 10;
const SHARE_OF_CORE_MS = 30_000;

/** Measures the log alone, and then all that auditors and operators ask of a running `npm start` with a long history. */
export const benchHistory = async (folder: string, report: Report): Promise<void> => {
  await benchLog(folder, report);
  const bench = await HistoryBench.start(join(folder, 'data'), report);
  try {
    await bench.fill();
    await bench.asOf();
    await bench.pages();
    await bench.exports();
    await bench.checkpoints();
    await bench.rebuild();
    await bench.verification();
  } finally {
    await bench.stop();
  }
};

type Opened = Pick<Engines, 'eventStore' | 'readStore' | 'keyVault'>;

class HistoryBench {
  private positions: readonly number[] = [];

  private constructor(
    private readonly program: RunningProgram,
    private readonly logIn: () => Promise<SignedIn>,
    private user: SignedIn,
    private readonly stores: Opened & { masterKey: Buffer; clock: typeof systemClock },
    private readonly settings: Settings,
    private readonly report: Report,
  ) {}

  static async start(dataFolder: string, report: Report): Promise<HistoryBench> {
    // Read models are compared in this process, where that is measured.
    const environment = { LOG_LEVEL: 'warn', SEAL_SECONDS: '3600', VERIFY_SECONDS: 'off' };
    const program = await RunningProgram.start(dataFolder, environment);
    const [logInWith, wallet] = [walletLogins(program.development), randomWallet()];
    const logIn = () => logInWith(wallet);
    const { settings } = loadSettings({ DATA_DIR: dataFolder, LOG_LEVEL: 'silent' });
    const engines = await openEngines(settings, createLogger(settings), ['eventStore', 'readStore', 'keyVault']);
    const stores = { ...engines, masterKey: loadMasterKey(settings), clock: systemClock };
    return new HistoryBench(program, logIn, await logIn(), stores, settings, report);
  }

  async stop(): Promise<void> {
    const { eventStore, readStore, keyVault } = this.stores;
    await closeEngines({ eventStore, readStore, keyVault });
    await this.program.stop();
  }

  /** Appends the history beside the running program, which projects it, publishes it and adds it to the log. */
  async fill(): Promise<void> {
    const personalData = personalDataOf(this.stores);
    const all = async () => {
      this.positions = await appendHistory({ ...this.stores, personalData }, this.user.userId);
      await this.caughtUp([...readModels.map(({ name }) => name), LOG]);
    };
    this.report(await measure('appended, and in every read model and the log', EVENTS + ITEMS, all));
    // Of a long history the first token has expired.
    this.user = await this.logIn();
    await this.caughtUp([...readModels.map(({ name }) => name), LOG]);
  }

  async asOf(): Promise<void> {
    const { positions } = this;
    const [from = 0, to = 0] = [positions[0], positions.at(-1)];
    const ask = async (): Promise<number> => {
      const asked = from + Math.floor(Math.random() * (to - from));
      const { tookMs, body } = await this.get(`?asOf=${String(asked)}`);
      const expected = nameAt(firstIndex(positions, (position) => position > asked) - 1);
      if (body['username'] === expected) return tookMs;
      throw new Error(`as of ${String(asked)} the name is ${String(body['username'])}, not ${expected}`);
    };
    this.report(latencyOf('as of a random position, the first time', [await ask()]));
    const latency = latencyOf(`as of a random position; ${SIZE}`, await many(READS, ask));
    this.report(latency);
    const p99 = { what: 'as of a random position, p99', value: latency.p99Ms, unit: 'ms' };
    this.report(aimed(p99, { atMost: 5, of: '100,000 events of a user among 10 million' }));
  }

  async pages(): Promise<void> {
    const tookMs: number[] = [];
    let next: unknown = null;
    do {
      const cursor = typeof next === 'string' ? `&cursor=${encodeURIComponent(next)}` : '';
      const page = await this.get(`/history?take=${String(PAGE_ITEMS)}${cursor}`);
      tookMs.push(page.tookMs);
      next = page.body['next'];
    } while (typeof next === 'string');
    this.report(latencyOf(`a page of ${String(PAGE_ITEMS)} items of a history`, tookMs));
  }

  async exports(): Promise<void> {
    const { user, report } = this;
    const { accountUrl } = this.program.development;
    let exported = Buffer.alloc(0);
    const read = async () => {
      const answer = await fetch(`${accountUrl}/user/${user.userId}/history/export`, { headers: user.headers });
      if (!answer.ok) throw new Error(`the export answered ${String(answer.status)}`);
      exported = Buffer.from(await answer.arrayBuffer());
    };
    report(await measure('exported items', ITEMS, read));
    const jwks = publicKeys.parse(await (await fetch(`${accountUrl}/.well-known/jwks.json`)).json());
    const verify = async () => {
      const { items } = await verifyExport(new Blob([exported]).stream(), { jwks });
      if (items < ITEMS) throw new Error(`the export has ${String(items)} items`);
    };
    report(await measure('verified items of an export', ITEMS, verify));
  }

  async checkpoints(): Promise<void> {
    const { eventStore, readStore } = this.stores;
    const log = new StoredLog(readStore);
    const tookMs = await many(CHECKPOINTS, async (at) => {
      const from = performance.now();
      await appendObservations(eventStore, EVENTS + at, 1);
      const head = await eventStore.head();
      while ((await log.state()).position < head) await pause(PAUSE_MS);
      const answer = await fetch(`${this.program.development.accountUrl}/log/checkpoint`);
      if (!answer.ok) throw new Error(`the checkpoint answered ${String(answer.status)}`);
      return performance.now() - from;
    });
    const { maxMs: value } = latencyOf('', tookMs);
    const what = 'from an append to its checkpoint, at most';
    this.report(aimed({ what, value, unit: 'ms' }, { atMost: 1_000, of: 'after each append' }));
  }

  /** Rebuilds the largest read model beside readers and a writer, with the command, as an operator does. */
  async rebuild(): Promise<void> {
    const { report, stores } = this;
    const readAndWrite = async (at: number) => {
      const tookMs = await this.read();
      // The next read waits until the write is in the read model.
      if (at % 10 === 0) await this.write(at);
      await pause(PAUSE_MS);
      return tookMs;
    };
    const before = latencyOf('reads beside a writer', await many(READS, readAndWrite));
    report(before);
    const head = await stores.eventStore.head();
    const args = ['projections', 'rebuild', versionName(chainEventsModel.name).name];
    const settings = { DATA_DIR: this.settings.DATA_DIR, LOG_LEVEL: 'silent' };
    const command = RunningProcess.spawn(args.join(' '), ['services/standalone/annals.js', ...args], settings);
    const isBegun = async () => (await stores.readStore.versions()).has(chainEventsModel.name);
    while (!(await isBegun())) {
      if (command.hasEnded) throw new Error(command.lastLines);
      await pause(PAUSE_MS);
    }
    const [besideMs, began]: [number[], number] = [[], performance.now()];
    const filled = nameInVersion(chainEventsModel.name, 2);
    for (let at = READS; (await stores.readStore.position(filled)) < head; at += 1)
      besideMs.push(await readAndWrite(at));
    const value = EVENTS / ((performance.now() - began) / 1_000);
    const rebuilt = { what: 'a read model is rebuilt beside readers and a writer', value, unit: 'events/s' };
    report(aimed(rebuilt, { atLeast: 200_000, of: '10 million events, embedded' }));
    const during = latencyOf('reads beside a writer and a rebuild', besideMs);
    report(during);
    const times = { what: "reads' p99 beside a rebuild", value: during.p99Ms / before.p99Ms, unit: 'times' };
    report(aimed(times, { atMost: 1.2, of: 'of that beside none' }));
    if ((await command.ended()) !== 0) throw new Error(command.lastLines);
    const from = performance.now();
    await switchStored(chainEventsModel, undefined, stores, new AbortController().signal);
    const took = { what: 'the rebuilt one is read instead', value: performance.now() - from, unit: 'ms' };
    report(aimed(took, { atMost: 50, of: 'to take over' }));
  }

  /** What a comparison with a fresh fold costs this process: on demand as fast as it can, in the background slowly. */
  async verification(): Promise<void> {
    let compared = 0;
    const verify = async () => {
      const options = { repair: false, signal: new AbortController().signal, report: () => undefined };
      const verified = await verifyStored(chainEventsModel, this.stores, options);
      if (verified.differences.length > 0) throw new Error('a read model differs from a fresh fold');
      compared = verified.compared;
    };
    const { seconds } = await measure('', 1, verify);
    const perSecond = Math.round(compared / seconds);
    this.report({ what: 'documents compared with a fresh fold', perSecond, count: compared, seconds });
    const idle = await shareOfCore();
    const makeScratch = (names: readonly string[]) => new ScratchStore(names);
    const { loop, measured } = verifyLoop({ ...this.stores, logger: createLogger(this.settings), makeScratch }, 1);
    loop.start();
    const busy = await shareOfCore();
    // At 5 % of a core, the first comparison may take longer than that.
    const isCompared = async () => ((await measured[0]?.read()) ?? []).length > 0;
    await eventually(isCompared, COMPARED_WITHIN_MS, 'a read model must be compared in the background');
    await loop.stop();
    const share = { what: 'of a core while read models are compared in the background', value: busy - idle, unit: '%' };
    this.report(aimed(share, { atMost: 5, of: 'continuously' }));
  }

  private async caughtUp(names: readonly string[]): Promise<void> {
    const { eventStore, readStore } = this.stores;
    const head = await eventStore.head();
    for (const name of names) while ((await readStore.position(name)) < head) await pause(PAUSE_MS);
  }

  /** Gets something of the user's. */
  private async get(path: string): Promise<{ tookMs: number; body: Record<string, unknown> }> {
    const from = performance.now();
    const { accountUrl } = this.program.development;
    const { body } = accepted(await send(`${accountUrl}/user/${this.user.userId}${path}`, this.user));
    return { tookMs: performance.now() - from, body };
  }

  private async read(): Promise<number> {
    return (await this.get('')).tookMs;
  }

  private async write(at: number): Promise<void> {
    const url = `${this.program.development.accountUrl}/user/${this.user.userId}/profile`;
    accepted(await send(url, { method: 'POST', headers: this.user.headers, body: { firstname: `Ada ${String(at)}` } }));
  }
}

/** Returns the share of a core, in percent, that all threads of this process take for some time. */
const shareOfCore = async (): Promise<number> => {
  const [before, from] = [process.cpuUsage(), performance.now()];
  await pause(SHARE_OF_CORE_MS);
  const { user, system } = process.cpuUsage(before);
  return (100 * (user + system)) / 1_000 / (performance.now() - from);
};

const many = async (count: number, work: (at: number) => Promise<number>): Promise<number[]> => {
  const results: number[] = [];
  for (let at = 0; at < count; at += 1) results.push(await work(at));
  return results;
};
