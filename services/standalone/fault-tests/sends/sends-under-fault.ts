import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { closeEngines, openEngines } from '../../../../shared/host/engines/engines.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { call, signIn, type Answered, type SignedIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import type { WholeProgram } from '../../../../shared/testing/processes/whole-program.ts';
import { ChainClient } from '../../../../shared/chain/client/chain-client.ts';
import { JsonRpcOperationsChain } from '../../../onchain/chain/operations-chain.json-rpc.ts';
import { ProgramOnChain, type Mining, type StartProgram } from '../../end-to-end/program-on-chain.ts';
import { sendFaults } from '../../../onchain/testing/send-faults.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { everyEvent } from '../agreement.ts';
import { retryUntilAnswered } from '../retry-until-answered.ts';

export const EXECUTORS = 3;
const OVER_WITHIN_MS = 45_000;
const DEPOSIT_WEI = 10n ** 18n;
const TARGET = '0x00000000000000000000000000000000000b0d1e';

/** A session that outlives its first token: idempotency keys belong to a session. */
interface Sender {
  session: SignedIn;
  refreshing?: Promise<SignedIn> | undefined;
}

/** A send with an Idempotency-Key, and its first answer. */
interface AnsweredSend {
  key: string;
  sender: Sender;
  answer: Answered;
}

/** A chain of its own, and a program that is killed while users send. */
export class SendsUnderFault {
  readonly answered: AnsweredSend[] = [];
  readonly userIds: string[] = [];
  /** Number of keys sent so far. */
  private keys = 0;

  private constructor(
    private readonly running: ProgramOnChain<WholeProgram>,
    private readonly contracts: { entryPoint: string; paymaster: string },
  ) {}

  static async start(folder: string, start: StartProgram<WholeProgram>): Promise<SendsUnderFault> {
    const anvil = await Anvil.start(join(folder, 'chain'));
    // At this level, any private key in the log would be found.
    const running = await ProgramOnChain.start({ folder, start, anvil, settings: { LOG_LEVEL: 'trace' } });
    const funds = ['--deposit', String(DEPOSIT_WEI), '--executors', String(EXECUTORS)];
    const { entryPoint, paymaster } = await running.prepare(funds);
    await running.setPolicy();
    return new SendsUnderFault(running, { entryPoint, paymaster: paymaster?.address ?? '' });
  }

  stop(): Promise<void> {
    return this.running.stop();
  }

  get program(): WholeProgram {
    return this.running.program;
  }

  set program(program: WholeProgram) {
    this.running.program = program;
  }

  mining(mining: Mining): Promise<void> {
    return this.running.mining(mining);
  }

  /** @param url where clients of the program send; with several processes, any of them */
  async signIn(): Promise<Sender> {
    const session = await retryUntilAnswered(() => signIn(this.program.development));
    this.userIds.push(session.userId);
    return { session };
  }

  private async refresh({ userId, refreshToken }: SignedIn): Promise<SignedIn> {
    const { body } = await call(`${this.program.development.accountUrl}/auth/refresh`, {
      method: 'POST',
      body: { refreshToken },
    });
    const refreshed = body as Pick<SignedIn, 'accessToken' | 'refreshToken'>;
    return { ...refreshed, userId, bearer: { authorization: `Bearer ${refreshed.accessToken}` } };
  }

  /** Sends with a key of its own until it is answered, however often the program is killed meanwhile. */
  async send(sender: Sender, urls: readonly string[] = [this.program.development.accountUrl]): Promise<void> {
    const key = `key-${String((this.keys += 1))}`;
    const answer = await this.sendWith(key, sender, urls);
    this.answered.push({ key, sender, answer });
  }

  /** Repeats answered sends. @returns those whose answer differs now */
  async answeredOtherwise(sends: readonly AnsweredSend[]): Promise<string[]> {
    const again = await Promise.all(
      sends.map(({ key, sender }) => this.sendWith(key, sender, [this.program.development.accountUrl])),
    );
    return sends.flatMap(({ key, answer }, at) => {
      const [first, now] = [JSON.stringify(answer.body), JSON.stringify(again[at]?.body)];
      return first === now ? [] : [`${key}: ${first}, and then ${now}`];
    });
  }

  /** Mines blocks, and compares everything with the chain once nothing is pending. */
  async everythingIsOver(): Promise<void> {
    await this.mining('at once');
    const client = new ChainClient(Anvil.chainId, [this.running.anvil.rpcUrl]);
    const { entryPoint } = this.contracts;
    const chain = new JsonRpcOperationsChain(client, { entryPoint, accountFactory: entryPoint });
    const engines = await openEngines(this.settings, pino({ level: 'silent' }), ['eventStore']);
    try {
      await eventually(
        async () => {
          await this.running.mine(1);
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
      client.close();
      await closeEngines(engines);
    }
  }

  /**
   * Returns operations that were stored but not answered, or answered but not stored, or reported in a block that left
   * the chain.
   */
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

  /** Every private key of the program: of its users, of executors and of the paymaster. */
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
    return this.running.dataFolder;
  }

  private get settings() {
    return loadSettings({ DATA_DIR: this.dataFolder }).settings;
  }

  private async deposit(): Promise<bigint> {
    const { entryPoint, paymaster } = this.contracts;
    const data = `0x70a08231${paymaster.slice(2).toLowerCase().padStart(64, '0')}`;
    return BigInt((await this.running.anvil.call('eth_call', { to: entryPoint, data }, 'latest')) as string);
  }

  private sendWith(key: string, sender: Sender, urls: readonly string[]): Promise<Answered> {
    const body = { chainId: Anvil.chainId, sponsor: true, transactionReq: { to: TARGET } };
    let attempts = 0;
    return retryUntilAnswered(async () => {
      const url = urls[(attempts += 1) % urls.length] ?? '';
      const { session } = sender;
      const headers = { ...session.bearer, 'idempotency-key': key };
      const answer = await call(`${url}/onchain/send`, { method: 'POST', body, headers });
      if (answer.body['code'] === 'token_expired' && session === sender.session) {
        // Once for all of its sends: a reused refresh token ends the session.
        sender.refreshing ??= this.refresh(session);
        sender.session = await sender.refreshing.finally(() => (sender.refreshing = undefined));
      }
      if (answer.status !== 201) throw new Error(`${String(answer.status)} ${JSON.stringify(answer.body)}`);
      return answer;
    });
  }
}
