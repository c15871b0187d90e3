import { join } from 'node:path';
import { hexlify, randomBytes, Wallet } from 'ethers';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { testSettings } from '../../../../shared/testing/processes/whole-program.ts';
import { startAlto } from './alto.bench.ts';
import { accepted, atATime, send, walletLogins, type SignedIn } from '../http-load.bench.ts';
import { latencyOf, type Report } from '../measure.ts';
import { OperationsChainUnderLoad } from './operations-chain.bench.ts';
import { processorMs } from '../processor-time.ts';
import { newAccounts, RECIPIENT, signOperations, type OwnedAccount } from './signed-operations.bench.ts';

const USERS = 200;
const SENDS = 2_000;
const SENDS_OF_ONE = 600;
const LOOP_OPERATIONS = 3_000;
const ALTO_OPERATIONS = 400;
const ALONE = 100;
const ALTO_ALONE = 20;
const ETHER = 10n ** 18n;
/** Options of Alto, besides the required ones. */
interface AltoTerms {
  name: string;
  executors: number;
  flags: readonly string[];
}
/** Alto's safe mode cannot read the answers of anvil's tracer: it would refuse every operation of EntryPoint v0.7. */
const DEFAULTS: AltoTerms = { name: 'Alto', executors: 1, flags: ['--safe-mode', 'false'] };
/** The same number of executors as ours. */
const TUNED: AltoTerms = {
  name: 'Alto, tuned',
  executors: 4,
  flags: [
    ...[...DEFAULTS.flags, '--min-bundle-interval', '10', '--max-bundle-interval', '20'],
    ...['--mempool-pop-batch-size', '100', '--enforce-unique-senders-per-bundle', 'false'],
    ...['--mempool-max-parallel-ops', '1000', '--utility-wallet-monitor', 'false'],
  ],
};

type Blocks = Parameters<OperationsChainUnderLoad['setBlocks']>[0];
const BLOCKS: readonly Blocks[] = ['at once', 'each second'];

/** A bundler whose operations are measured. */
interface Measured {
  name: string;
  pid: number | undefined;
  /** Sends one operation, and returns its hash. */
  send: (at: number) => Promise<string>;
}

/**
 * Measures operations on a local chain: by `POST /onchain/send`, by the bundler loop, and by JSON-RPC beside Alto's,
 * each with blocks at once and each second.
 */
export const benchOperations = async (folder: string, report: Report): Promise<void> => {
  const bench = await OperationsBench.start(join(folder, 'ours'), report);
  try {
    await bench.firstSends();
    for (const blocks of BLOCKS) await bench.sends(blocks);
    for (const blocks of BLOCKS) await bench.rpc(blocks);
    for (const blocks of BLOCKS) await bench.bundlerLoop(join(folder, `loop ${blocks}`), blocks);
    for (const blocks of BLOCKS) await bench.alto(DEFAULTS, blocks);
    for (const blocks of BLOCKS) await bench.alto(TUNED, blocks);
    bench.compare();
  } finally {
    await bench.stop();
  }
};

class OperationsBench {
  private readonly perSecond = new Map<string, number>();
  private users: readonly SignedIn[] = [];
  private accounts: readonly OwnedAccount[] = [];
  /** Nonce keys that these accounts have used. */
  private keysUsed = 0;

  private constructor(
    private readonly program: RunningProgram,
    private readonly chain: OperationsChainUnderLoad,
    private readonly contracts: { entryPoint: string; accountFactory: string },
    private readonly folder: string,
    private readonly report: Report,
  ) {}

  static async start(folder: string, report: Report): Promise<OperationsBench> {
    const program = await RunningProgram.start(folder, { LOG_LEVEL: 'warn' });
    const { rpcUrl, onchain } = program.development;
    if (!onchain) throw new Error('the local chain is not prepared');
    const chain = await OperationsChainUnderLoad.open(rpcUrl, onchain.entryPoint, join(folder, 'chain'));
    const bench = new OperationsBench(program, chain, onchain, folder, report);
    bench.accounts = newAccounts(USERS, onchain.accountFactory);
    await chain.deploy(bench.accounts, onchain.accountFactory);
    await chain.fund(
      bench.accounts.map(({ address }) => address),
      100n * ETHER,
    );
    const users: SignedIn[] = [];
    const logIn = walletLogins(program.development);
    await atATime(Array.from({ length: USERS }), async () => {
      users.push(await logIn(new Wallet(hexlify(randomBytes(32)))));
    });
    bench.users = users;
    return bench;
  }

  async stop(): Promise<void> {
    this.chain.close();
    await this.program.stop();
  }

  /** The first send of each user deploys the account. */
  async firstSends(): Promise<void> {
    await this.load('first sends', this.sendsOf(this.users), USERS);
  }

  async sends(blocks: Blocks): Promise<void> {
    await this.chain.setBlocks(blocks);
    const many = this.sendsOf(this.users);
    if (blocks === 'at once') await this.alone(`a send alone, blocks ${blocks}`, many, ALONE);
    await this.load(`sends of ${String(USERS)} users, blocks ${blocks}`, many, SENDS);
    await this.load(`sends of one user, blocks ${blocks}`, this.sendsOf(this.users.slice(0, 1)), SENDS_OF_ONE);
    await this.chain.setBlocks('at once');
  }

  /** Operations signed by their owners, through `POST /rpc`. */
  async rpc(blocks: Blocks): Promise<void> {
    const { accountUrl, chainId, app } = this.program.development;
    const url = `${accountUrl}/rpc?chainID=${String(chainId)}&apiKey=${app.apiKey}`;
    const headers = this.users[0]?.headers ?? {};
    const send = sendSigned(url, await this.signed(SENDS), headers);
    await this.chain.setBlocks(blocks);
    await this.load(`JSON-RPC, blocks ${blocks}`, { name: 'Annals', pid: this.program.child.pid, send }, SENDS);
    await this.chain.setBlocks('at once');
  }

  /** Operations that were signed and stored before the loop started, in a program of its own. */
  async bundlerLoop(folder: string, blocks: Blocks): Promise<void> {
    const { rpcUrl, chainId } = this.program.development;
    const settings = {
      ...testSettings,
      DATA_DIR: folder,
      CHAINS: JSON.stringify([{ chainId, rpcUrls: [rpcUrl] }]),
      LOG_LEVEL: 'warn',
    };
    const file = 'services/standalone/bench/operations/bundler-loop.bench.ts';
    const counts = [String(LOOP_OPERATIONS), String(USERS)];
    const running = RunningProcess.spawn('loop', [file, join(this.folder, 'chain'), ...counts], settings);
    const [, stored = ''] = await running.ready(/stored (.*)\n/);
    const hashes = stored.split(' ');
    await this.chain.setBlocks(blocks);
    const { pid } = running.child;
    await this.during(`bundler loop, blocks ${blocks}`, { name: 'Annals', pid }, () => {
      running.child.send('run');
      return Promise.resolve(hashes);
    });
    await this.chain.setBlocks('at once');
    running.child.send('end');
    await running.ended();
  }

  async alto({ name, executors: count, flags }: AltoTerms, blocks: Blocks): Promise<void> {
    const { rpcUrl } = this.program.development;
    const executors = Array.from({ length: count }, () => new Wallet(hexlify(randomBytes(32))));
    const utility = new Wallet(hexlify(randomBytes(32)));
    await this.chain.fund(
      [utility, ...executors].map(({ address }) => address),
      1_000n * ETHER,
    );
    const alto = await startAlto({
      rpcUrl,
      entryPoint: this.contracts.entryPoint,
      executors: executors.map(({ privateKey }) => privateKey),
      utility: utility.privateKey,
      flags,
    });
    try {
      const measured = { name, pid: alto.pid };
      await this.chain.setBlocks(blocks);
      if (blocks === 'at once') {
        const signed = await this.signed(ALTO_ALONE);
        await this.alone(
          `an operation alone, blocks ${blocks}`,
          { ...measured, send: sendSigned(alto.url, signed) },
          ALTO_ALONE,
        );
      }
      const signed = await this.signed(ALTO_OPERATIONS);
      await this.load(
        `JSON-RPC, blocks ${blocks}`,
        { ...measured, send: sendSigned(alto.url, signed) },
        ALTO_OPERATIONS,
      );
    } finally {
      await this.chain.setBlocks('at once');
      await alto.stop();
    }
  }

  compare(): void {
    for (const blocks of BLOCKS) {
      const ours = [`sends of ${String(USERS)} users`, 'JSON-RPC', 'bundler loop'].map(
        (what) => `${what}, blocks ${blocks}`,
      );
      for (const what of ours) {
        for (const { name: other } of [DEFAULTS, TUNED]) {
          const times =
            (this.perSecond.get(`Annals: ${what}`) ?? Number.NaN) /
            (this.perSecond.get(`${other}: JSON-RPC, blocks ${blocks}`) ?? Number.NaN);
          this.report({ what: `${what}: times ${other}`, times: Math.round(times * 100) / 100 });
        }
      }
    }
  }

  private sendsOf(users: readonly SignedIn[]): Measured {
    const { accountUrl, chainId } = this.program.development;
    const body = { chainId, sponsor: true, transactionReq: { to: RECIPIENT } };
    return {
      name: 'Annals',
      pid: this.program.child.pid,
      send: async (at) => {
        const headers = users[at % users.length]?.headers ?? {};
        const answer = accepted(await send(`${accountUrl}/onchain/send`, { method: 'POST', headers, body }));
        return answer.body['userOpHash'] ?? '';
      },
    };
  }

  private async signed(count: number) {
    const { chainId } = this.program.development;
    const { entryPoint } = this.contracts;
    const firstKey = this.keysUsed;
    this.keysUsed += Math.ceil(count / this.accounts.length);
    const baseFee = await this.chain.baseFee();
    return signOperations(this.accounts, { count, firstKey, chainId, entryPoint, baseFee });
  }

  /** Measures from a request until its operation is in a block, one after the other. */
  private async alone(what: string, { name, send: sendOne }: Measured, count: number): Promise<void> {
    const tookMs: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const from = performance.now();
      const { atMs } = await this.chain.whenIncluded(await sendOne(at));
      tookMs.push(atMs - from);
    }
    this.report(latencyOf(`${name}: ${what}`, tookMs));
  }

  private async load(what: string, measured: Measured, count: number): Promise<void> {
    await this.during(what, measured, async () => {
      const hashes: string[] = [];
      await atATime(
        Array.from({ length: count }, (_, at) => at),
        async (at) => {
          hashes.push(await measured.send(at));
        },
      );
      return hashes;
    });
  }

  /** @param work sends operations, and returns their hashes */
  private async during(
    what: string,
    { name, pid }: Omit<Measured, 'send'>,
    work: () => Promise<string[]>,
  ): Promise<void> {
    const { chain } = this;
    const block = await chain.blockNumber();
    const used = { [name]: processorMs(pid), anvil: processorMs(chain.pid) };
    const from = performance.now();
    const hashes = await work();
    const inclusions = await chain.inclusionsOf(hashes);
    const seconds = (Math.max(...inclusions.map(({ atMs }) => atMs)) - from) / 1_000;
    const whole = `${name}: ${what}`;
    const perSecond = Math.round(inclusions.length / seconds);
    this.perSecond.set(whole, perSecond);
    this.report({ what: whole, perSecond, count: inclusions.length, seconds: Math.round(seconds * 100) / 100 });
    for (const [whose, id] of [[name, pid] as const, ['anvil', chain.pid] as const]) {
      const msEach = (processorMs(id) - (used[whose] ?? 0)) / inclusions.length;
      this.report({ what: `${whole}: ${whose}`, msEach: Math.round(msEach * 100) / 100 });
    }
    const gainedWei = await chain.gainOf(inclusions, block);
    this.report({ what: `${whole}: its executors`, gainedWei: String(gainedWei) });
    const missing = hashes.length - inclusions.length;
    if (missing > 0) this.report({ what: `${whole}: left out of all blocks`, missing });
    if (name === 'Annals' && (missing > 0 || gainedWei < 0n)) throw new Error(`${whole}: see above`);
  }
}

const sendSigned =
  (url: string, signed: Awaited<ReturnType<typeof signOperations>>, headers = {}) =>
  async (at: number): Promise<string> => {
    const params = [signed[at]?.wire, '0x0000000071727De22E5E9d8BAf0edAc6f37da032'];
    const body = { jsonrpc: '2.0', id: at, method: 'eth_sendUserOperation', params };
    const answer = await send(url, { method: 'POST', headers, body });
    const { result, error } = answer.body as { result?: string; error?: unknown };
    if (result === undefined) throw new Error(`it answered ${JSON.stringify(error)}`);
    return result;
  };
