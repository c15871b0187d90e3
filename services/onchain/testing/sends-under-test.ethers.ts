import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { SponsorshipPolicy } from '../../../schemas/events/account/app-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { personalDataOf } from '../../../shared/key-vault/personal-data.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import type { Hardfork } from '../../../shared/chain/hardforks.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { startAnvil, type StartChain } from '../../../shared/testing/chain/start-test-chain.ts';
import type { TestChain } from '../../../shared/testing/chain/test-chain.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import {
  appHeadersV2,
  call,
  signIn,
  type Answered,
  type SignedIn,
} from '../../../shared/testing/http/http-caller.ethers.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { testFoundation, type TestFoundation } from '../../../shared/testing/test-foundation.ts';
import { startAccount } from '../../account/account.module.ts';
import { appAdministration, type AppAdministration } from '../../account/app-administration.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import { chainAdministration, type PreparedChain } from '../chain-administration.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcOperationsChain } from '../chain/operations-chain.json-rpc.ts';
import { sendFaults } from './send-faults.ts';

const ETHER = 10n ** 18n;
const HAPPENS_WITHIN_MS = 60_000;
/** However busy the machine is, no answer of the chain about its newest state is late. */
const CHAIN_ANSWERS_WITHIN_MS = 3_600_000;
const ORIGIN = 'https://app.example';
/** The selector of `depositTo(address)`. */
const DEPOSIT_TO = '0xb760faf9';
/** A policy that refuses nothing. */
export const ALLOWS_ALL: SponsorshipPolicy = {
  dayWei: null,
  userDayWei: null,
  operationWei: null,
  allow: [],
  anySession: false,
};

/** A registered app, with the origin of its sign-ins. */
export type SendingApp = Awaited<ReturnType<AppAdministration['register']>> & { origin: string };

/** A signed-in user with the address of their account. */
export interface Sender extends SignedIn {
  address: string;
}

interface Options {
  depositWei?: bigint;
  confirmations?: number;
  executors?: number;
  settings?: Record<string, string>;
  /** The time of day, which stands still. Default: the real one. */
  stoppedAt?: number;
  /** Default: the hardfork of the other specs. */
  hardfork?: Hardfork;
  /** Default: anvil, whose state a test may write. */
  startChain?: StartChain;
  /** Returns the URL of a proxy in front of the node, which the service uses instead. */
  through?: (rpcUrl: string) => Promise<string>;
}

/** The account service over HTTP, with in-memory stores and a real chain. */
export class SendsUnderTest {
  private readonly stopping = new AbortController();
  private projecting: Promise<void> | undefined;

  private constructor(
    readonly testChain: TestChain,
    readonly foundation: TestFoundation,
    readonly prepared: PreparedChain,
    readonly service: Awaited<ReturnType<typeof startAccount>>,
    private readonly settings: ChainSettings,
    private readonly depositedWei: bigint,
  ) {}

  static async start(
    folder: string,
    { depositWei = ETHER, confirmations = 3, executors = 3, settings: others = {}, ...options }: Options = {},
  ): Promise<SendsUnderTest> {
    const { hardfork, startChain = startAnvil, through, stoppedAt } = options;
    const testChain = await startChain(join(folder, 'chain'), hardfork);
    const rpcUrl = through ? await through(testChain.rpcUrl) : testChain.rpcUrl;
    const chain = { chainId: Anvil.chainId, rpcUrls: [rpcUrl], confirmations };
    const environment = {
      DATA_DIR: folder,
      RATE_LIMITS: 'off',
      CHAINS: JSON.stringify([chain]),
      ...others,
    };
    const clock = { ...systemClock, ...(stoppedAt !== undefined && { now: () => stoppedAt }) };
    const foundation = await testFoundation({ environment, clock });
    const [settings] = foundation.settings.CHAINS ?? [];
    if (!settings) throw new Error('CHAINS has no chain');
    const prepared = await prepare(foundation, settings, { depositWei, executors });
    const service = await startAccount(foundation, { chainAnswersWithinMs: CHAIN_ANSWERS_WITHIN_MS });
    const started = new SendsUnderTest(testChain, foundation, prepared, service, settings, depositWei);
    started.projecting = started.project();
    return started;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.service.close();
    await this.projecting;
    await this.testChain.stop();
  }

  /** Prepares the chain with more executors. @returns the addresses of all executors */
  async prepareExecutors(executors: number): Promise<readonly string[]> {
    const terms = { depositWei: this.depositedWei, executors };
    return (await prepare(this.foundation, this.settings, terms)).executors;
  }

  get apps() {
    return appAdministration(this.foundation);
  }

  /** Registers an app with a policy for the chain; `null`: without a policy. */
  async app(policy: SponsorshipPolicy | null = ALLOWS_ALL, isThirdParty = false): Promise<SendingApp> {
    const lists = { origins: [ORIGIN], redirectUris: [] };
    const app = await this.apps.register({ name: 'App', ...lists, scheme: 'v1', isThirdParty });
    await this.apps.change(app.id, { chainId: Anvil.chainId, policy });
    return { ...app, origin: ORIGIN };
  }

  /** Returns a token of the app itself, without a user. */
  async appItself(app: SendingApp): Promise<Pick<Sender, 'bearer'>> {
    const { newKey } = await this.apps.createServerKey(app.id);
    const headers = appHeadersV2({ app: { ...app, signingKey: newKey } }, { method: 'POST', path: '/auth/app' });
    const { body } = await call(`${this.service.url}/auth/app`, { method: 'POST', headers });
    return { bearer: { authorization: `Bearer ${body['accessToken'] as string}` } };
  }

  /** Signs in the user of a wallet, by default a new user. */
  async sender(app: SendingApp, wallet = randomWallet()): Promise<Sender> {
    const { url: accountUrl } = this.service;
    const session = await signIn({ accountUrl, app }, wallet);
    const events = await this.foundation.eventStore.read(`user-${session.userId}`);
    const assigned = events.find(({ type }) => type === 'SmartAccountAssigned');
    return { ...session, address: assigned?.data['address'] as string };
  }

  /** @param request changes to a sponsored call of `NOBODY` without value and data */
  send(sender: SignedIn, request: JsonObject = {}, headers: Record<string, string> = {}): Promise<Answered> {
    return this.post('/onchain/send', sender, request, headers);
  }

  post(
    path: string,
    { bearer }: SignedIn,
    { transactionReq, ...request }: JsonObject = {},
    headers: Record<string, string> = {},
  ): Promise<Answered> {
    const body = {
      chainId: Anvil.chainId,
      sponsor: true,
      ...request,
      transactionReq: { to: NOBODY, ...(transactionReq as JsonObject | undefined) },
    };
    return call(this.service.url + path, { method: 'POST', body, headers: { ...bearer, ...headers } });
  }

  get(path: string, { bearer }: SignedIn): Promise<Answered> {
    return call(this.service.url + path, { headers: bearer });
  }

  /** Waits until a transaction has one of these states, and returns the transaction. What is final counts as included. */
  until(sender: SignedIn, id: unknown, ...states: string[]): Promise<JsonObject> {
    const accepted = new Set(states.includes('included') ? [...states, 'final'] : states);
    return eventually(
      async () => {
        const { status, body } = await this.get(`/onchain/transactions/${String(id)}`, sender);
        return status === 200 && accepted.has(body['status'] as string) && body;
      },
      HAPPENS_WITHIN_MS,
      `the transaction must be ${states.join(' or ')}`,
    );
  }

  async typesOf(stream: string): Promise<string[]> {
    return (await this.foundation.eventStore.read(stream)).map(({ type }) => type);
  }

  /** Mines blocks. */
  mine(blocks: number): Promise<void> {
    return this.testChain.mineBlocks(blocks);
  }

  /** Returns once estimates use the newest base fee: the service caches the fees for a moment. */
  hasSeenTheHead(sender: SignedIn): Promise<unknown> {
    return eventually(
      async () => {
        const { body } = await this.post('/onchain/estimate-user-op-gas', sender, { sponsor: false });
        const block = (await this.testChain.call('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: string };
        const tip = BigInt(body['maxPriorityFeePerGas'] as string);
        return BigInt(body['maxFeePerGas'] as string) === 2n * BigInt(block.baseFeePerGas) + tip;
      },
      HAPPENS_WITHIN_MS,
      'fees must follow the newest block',
    );
  }

  async balance(address: string): Promise<bigint> {
    return BigInt(String(await this.testChain.call('eth_getBalance', address, 'latest')));
  }

  fund(address: string, wei: bigint): Promise<void> {
    return this.testChain.setBalance(address, wei);
  }

  /** Returns a deposit in the EntryPoint. @param of default: the paymaster */
  async deposit(of = this.prepared.paymaster): Promise<bigint> {
    const { entryPoint } = this.prepared;
    const data = `0x70a08231${of.slice(2).toLowerCase().padStart(64, '0')}`;
    return BigInt(String(await this.testChain.call('eth_call', { to: entryPoint, data }, 'latest')));
  }

  /** Takes from the deposit of the paymaster, as its operator does. */
  withdraw(wei: bigint): Promise<string> {
    return chainAdministration(this.foundation).withdraw(this.settings, wei, NOBODY);
  }

  /** Adds to the deposit of the paymaster, as anybody can. Returns once a block has it. */
  async addDeposit(wei: bigint): Promise<void> {
    const { entryPoint: to, paymaster } = this.prepared;
    const before = await this.deposit();
    await this.testChain.send({ to, value: wei, data: `${DEPOSIT_TO}${word(BigInt(paymaster))}` });
    const isAdded = async () => (await this.deposit()) === before + wei;
    await eventually(isAdded, HAPPENS_WITHIN_MS, 'the deposit must be in a block');
  }

  /**
   * Sets a deposit directly in the storage of the EntryPoint: the first word of an entry in its first mapping.
   * @param of default: the paymaster
   */
  setDeposit(wei: bigint, of = this.prepared.paymaster): Promise<unknown> {
    const { entryPoint } = this.prepared;
    const slot = hash('keccak-256', Buffer.from(word(BigInt(of)) + word(0n), 'hex'), 'hex');
    return this.testChain.call('anvil_setStorageAt', entryPoint, `0x${slot}`, `0x${word(wei)}`);
  }

  /** Returns once all transactions are final and `sendFaults` finds no violation. */
  everythingIsOver(): Promise<unknown> {
    const client = new ChainClient(this.settings.chainId, this.settings.rpcUrls);
    const chain = new JsonRpcOperationsChain(client, this.settings);
    return eventually(
      async () => {
        const { events } = await this.foundation.eventStore.readAll(0, undefined, Infinity);
        const faults = await sendFaults({ events, chain, lostWei: this.depositedWei - (await this.deposit()) });
        if (faults.length > 0) throw new Error(faults.join('\n'));
        return true;
      },
      HAPPENS_WITHIN_MS,
      'all transactions must be final, without violations',
    ).finally(() => client.close());
  }

  /** Updates the read models, as the projector does. */
  private async project(): Promise<void> {
    const { eventStore, readStore } = this.foundation;
    const personalData = personalDataOf(this.foundation);
    for await (const { events } of eventStore.subscribeAll(0, undefined, this.stopping.signal)) {
      const opened = await personalData.open(events);
      for (const model of readModels) await projectInto(readStore, [model], model.keepsSealed ? events : opened);
    }
  }
}

const prepare = (
  foundation: TestFoundation,
  settings: ChainSettings,
  terms: { depositWei: bigint; executors: number },
): Promise<PreparedChain> =>
  chainAdministration(foundation).prepare(settings, {
    ...{ funderKey: LOCAL_FUNDER_KEY, executorWei: 10n * ETHER, ...terms },
  });

const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** An address without code. */
export const NOBODY = '0x00000000000000000000000000000000000b0d1e';
