import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { pino } from 'pino';
import { LOCAL_FUNDER_KEY } from '../../../shared/chain/development-token.ethers.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, openEngines } from '../../../shared/host/engines.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { Anvil } from '../../../shared/testing/anvil.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn, type Answered, type SignedIn } from '../../../shared/testing/http-caller.ethers.ts';
import type { WholeProgram } from '../../../shared/testing/whole-program.ts';
import { JsonRpcOperationsChain } from '../../account/edge/operations-chain.json-rpc.ts';
import { sendFaults } from '../../account/testing/send-faults.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { everyEvent } from './agreement.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** When blocks come. */
export type Mining = 'at once' | 'each second' | 'none';

export const EXECUTORS = 3;
const CONFIRMATIONS = 3;
const OVER_WITHIN_MS = 45_000;
const DEPOSIT_WEI = 10n ** 18n;
const TARGET = '0x00000000000000000000000000000000000b0d1e';
const run = promisify(execFile);

/** A send with an Idempotency-Key, and its first answer. */
interface AnsweredSend {
  key: string;
  sender: SignedIn;
  answer: Answered;
}

/** A chain of its own, and a program that is killed while somebody sends. */
export class SendsUnderFault {
  readonly answered: AnsweredSend[] = [];
  readonly userIds: string[] = [];
  /** The keys that were ever sent. */
  private keys = 0;

  private constructor(
    private readonly folder: string,
    private readonly anvil: Anvil,
    private readonly contracts: { entryPoint: string; paymaster: { address: string } },
    public program: WholeProgram,
  ) {}

  /** @param start starts a program with these settings */
  static async start(
    folder: string,
    start: (dataFolder: string, settings: Record<string, string>) => Promise<WholeProgram>,
  ): Promise<SendsUnderFault> {
    const anvil = await Anvil.start(join(folder, 'chain'));
    const chain = { chainId: Anvil.chainId, rpcUrls: [anvil.rpcUrl], confirmations: CONFIRMATIONS };
    const dataFolder = join(folder, 'data');
    const settings = { CHAINS: JSON.stringify([chain]) };
    const program = await start(dataFolder, settings);
    const annals = (...args: string[]) =>
      run(process.execPath, ['dist/services/standalone/annals.js', ...args], {
        env: { PATH: process.env['PATH'], DATA_DIR: dataFolder, ...settings },
      });
    const keyFile = join(folder, 'funder.key');
    writeFileSync(keyFile, LOCAL_FUNDER_KEY);
    const of = ['--chain', String(Anvil.chainId), '--json'];
    const funds = ['--deposit', String(DEPOSIT_WEI), '--executors', String(EXECUTORS)];
    await annals('chain', 'prepare', ...of, '--funder-key-file', keyFile, ...funds);
    const { stdout } = await annals('chain', 'status', ...of);
    await annals('app', 'policy', 'set', program.development.app.id, ...of);
    return new SendsUnderFault(
      folder,
      anvil,
      JSON.parse(stdout) as { entryPoint: string; paymaster: { address: string } },
      program,
    );
  }

  async stop(): Promise<void> {
    await this.program.stop();
    await this.anvil.stop();
  }

  async mining(mining: Mining): Promise<void> {
    await this.anvil.call('evm_setAutomine', mining === 'at once');
    await this.anvil.call('evm_setIntervalMining', mining === 'each second' ? 1 : 0);
  }

  /** @param url where clients of the program send; of several processes any */
  async signIn(): Promise<SignedIn> {
    const session = await retryUntilAnswered(() => signIn(this.program.development));
    this.userIds.push(session.userId);
    return session;
  }

  /** Sends until it is answered, with a key of its own, however often the program is killed meanwhile. */
  async send(sender: SignedIn, urls: readonly string[] = [this.program.development.accountUrl]): Promise<void> {
    const key = `key-${String((this.keys += 1))}`;
    const answer = await this.sendWith(key, sender, urls);
    this.answered.push({ key, sender, answer });
  }

  /** Sends again what was answered. @returns what is answered otherwise now */
  async answeredOtherwise(sends: readonly AnsweredSend[]): Promise<string[]> {
    const again = await Promise.all(
      sends.map(({ key, sender }) => this.sendWith(key, sender, [this.program.development.accountUrl])),
    );
    return sends.flatMap(({ key, answer }, at) => {
      const [first, now] = [JSON.stringify(answer.body), JSON.stringify(again[at]?.body)];
      return first === now ? [] : [`${key}: ${first}, and then ${now}`];
    });
  }

  /** Lets blocks come, and compares everything with the chain once nothing is under way. */
  async everythingIsOver(): Promise<void> {
    await this.mining('at once');
    const chain = new JsonRpcOperationsChain({
      ...{ chainId: Anvil.chainId, rpcUrls: [this.anvil.rpcUrl] },
      ...{ entryPoint: this.contracts.entryPoint, accountFactory: this.contracts.entryPoint },
    });
    const engines = await openEngines(this.settings, pino({ level: 'silent' }), ['eventStore']);
    try {
      await eventually(
        async () => {
          await this.anvil.call('anvil_mine', '0x1');
          const lostWei = DEPOSIT_WEI - (await this.deposit());
          const events = await everyEvent(engines.eventStore);
          const faults = [...(await sendFaults({ events, chain, lostWei })), ...this.unanswered(events)];
          if (faults.length > 0) throw new Error(faults.join('\n'));
          return true;
        },
        OVER_WITHIN_MS,
        'everything must be over, and as it has to be',
      );
    } finally {
      chain.close();
      await closeEngines(engines);
    }
  }

  /** What is stored and was answered to nobody, or the other way round, or told of a block that left the chain. */
  private unanswered(events: readonly StoredEvent[]): string[] {
    const ids = this.answered.map(({ answer }) => answer.body['id']);
    const stored = events
      .filter(({ type, data }) => type === 'TxSubmitted' && data['replaces'] === null)
      .map(({ data }) => data['transactionId']);
    const isSame = isDeepStrictEqual(ids.toSorted(), stored.toSorted());
    const left = events.filter(({ type }) => type === 'TxReorged' || type === 'BundleReorged');
    return [
      ...(isSame ? [] : [`${String(stored.length)} are stored, and ${String(ids.length)} were answered`]),
      ...left.map(({ stream, type }) => `${stream}: ${type}`),
    ];
  }

  /** Every private key that the program has: of its users, of executors and of the paymaster. */
  async privateKeys(): Promise<Buffer[]> {
    const engines = await openEngines(this.settings, pino({ level: 'silent' }), ['eventStore', 'keyVault']);
    try {
      const { keys } = personalDataOf({ ...engines, masterKey: loadMasterKey(this.settings), clock: systemClock });
      const executors = Array.from({ length: EXECUTORS }, (_, number) => keys.executorKey(Anvil.chainId, number));
      return await Promise.all([
        ...this.userIds.map((userId) => keys.ownerKey(userId)),
        ...executors,
        keys.paymasterKey(Anvil.chainId),
      ]);
    } finally {
      await closeEngines(engines);
    }
  }

  get dataFolder(): string {
    return join(this.folder, 'data');
  }

  private get settings() {
    return loadSettings({ DATA_DIR: this.dataFolder }).settings;
  }

  private async deposit(): Promise<bigint> {
    const { entryPoint, paymaster } = this.contracts;
    const data = `0x70a08231${paymaster.address.slice(2).toLowerCase().padStart(64, '0')}`;
    return BigInt((await this.anvil.call('eth_call', { to: entryPoint, data }, 'latest')) as string);
  }

  private sendWith(key: string, { bearer }: SignedIn, urls: readonly string[]): Promise<Answered> {
    const headers = { ...bearer, 'idempotency-key': key };
    const body = { chainId: Anvil.chainId, sponsor: true, transactionReq: { to: TARGET } };
    let attempts = 0;
    return retryUntilAnswered(async () => {
      const url = urls[(attempts += 1) % urls.length] ?? '';
      const answer = await call(`${url}/onchain/send`, { method: 'POST', body, headers });
      if (answer.status !== 201) throw new Error(`${String(answer.status)} ${JSON.stringify(answer.body)}`);
      return answer;
    });
  }
}
