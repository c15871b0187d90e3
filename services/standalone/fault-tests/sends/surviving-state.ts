import { isDeepStrictEqual } from 'node:util';
import { onchainStream } from '../../../../schemas/events/onchain/onchain-events.ts';
import { allTopics, topics } from '../../../../schemas/topics.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import type { ChainSettings } from '../../../../shared/config/chain-settings.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import { MemoryKeyVault } from '../../../../shared/testing/engines/key-vault.memory.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { addressOfKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { MemoryMessageBus } from '../../../../shared/testing/engines/message-bus.memory.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { systemIds } from '../../../../shared/primitives/ids.ts';
import { makeVault } from '../../../../shared/key-vault/own-vault.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { TestClock, testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { appAdministration } from '../../../account/app-administration.ts';
import { createAccountData, executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import { accountAddress } from '../../../onchain/smart-accounts/domain/smart-account.ts';
import { idOfOperation } from '../../../onchain/transactions/domain/transaction.ts';
import { answeredOperationOf, nonceOf } from '../../../onchain/operations/domain/user-operation.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { sendFaults } from '../../../onchain/testing/send-faults.ts';
import { SimulatedChain } from '../../../onchain/testing/simulated-chain/simulated-chain.ts';
import { CONTRACTS } from '../../../onchain/testing/simulated-chain/simulated-contracts.ts';
import { SimulatedNode } from '../../../onchain/testing/simulated-chain/simulated-node.ts';
import { signOperation } from '../../../onchain/testing/signed-operation.ts';
import { named } from '../../../onchain/testing/simulated-chain/simulated-state.ts';
import { publishedTypes } from '../../../relay/publish-events/address-event.ts';
import { everyEvent, everyMessage } from '../agreement.ts';
import { SendingProcess, type KeyedSend, type Ports, type SignedSend } from './sending-process.ts';

const CHAIN_ID = CONTRACTS.chainId;
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const DEPOSIT_WEI = ETHER;
/** An estimate takes the account to have much, which the simulated chain does not. */
const MUCH_WEI = 10n ** 32n;
const CONFIRMATIONS = 3;
const EXECUTORS = 2;
const TARGET = '0x00000000000000000000000000000000000b0d1e';
const STRANGER_KEY = Buffer.alloc(32, 0x50);
const STRANGER = addressOfKey(STRANGER_KEY);
const ANY = { dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: false };
const GENESIS_MS = Date.parse('2026-01-02T03:00:00.000Z');

/** Of all states: making keys takes longer than all else, and nobody destroys one. */
const keyVault = new MemoryKeyVault();
const masterKey = Buffer.alloc(32, 7);
await makeVault({ keyVault, masterKey, clock: systemClock, ids: systemIds });
const { keys } = personalDataOf({ keyVault, masterKey, clock: systemClock, eventStore: new MemoryEventStore() });

/** Returns the addresses of the keys that a chain and some users have. */
const keysOf = async (users: number) => {
  const owners: string[] = [];
  for (let user = 0; user < users; user += 1) {
    await keys.dataKey(userIdOf(user));
    owners.push(await keys.ownerOf(userIdOf(user)));
  }
  await keys.makeChainKeys(CHAIN_ID, { paymaster: true, executors: [...Array(EXECUTORS).keys()] });
  const executors: string[] = [];
  for (let number = 0; number < EXECUTORS; number += 1) {
    executors.push(addressOfKey(await keys.executorKey(CHAIN_ID, number)));
  }
  return { signer: addressOfKey(await keys.paymasterKey(CHAIN_ID)), executors, owners };
};

/** What outlives processes: stores, topics, a chain, and what clients were answered. */
export class SurvivingState {
  /** By key. */
  readonly answers = new Map<string, unknown>();
  /** How many operations came signed. */
  private signed = 0n;

  private constructor(
    readonly clock: TestClock,
    private readonly foundation: TestFoundation,
    private readonly chain: SimulatedChain,
    private readonly settings: ChainSettings,
    private readonly appId: string,
    readonly ports: Ports,
  ) {}

  /** @param users how many people there are, each with an account that has much, and is not deployed */
  static async prepare(users: number): Promise<SurvivingState> {
    const clock = new TestClock(GENESIS_MS);
    const CHAINS = [{ chainId: CHAIN_ID, rpcUrls: ['http://127.0.0.1:1'], confirmations: CONFIRMATIONS }];
    const foundation = await testFoundation({ environment: { CHAINS: JSON.stringify(CHAINS) }, clock });
    const [settings] = foundation.settings.CHAINS ?? [];
    if (!settings) throw new Error('there is no chain');
    const { signer, executors, owners } = await keysOf(users);
    const random = new SeededRandom(1);
    const contracts = { ...CONTRACTS, paymaster: { ...CONTRACTS.paymaster, signer } };
    const chain = new SimulatedChain({ ...contracts, random, genesisTime: GENESIS_MS / 1_000 });
    for (const executor of executors) chain.sendWei(executor, ETHER);
    chain.depositWei(contracts.paymaster.address, DEPOSIT_WEI);
    for (const owner of [...owners, STRANGER]) chain.sendWei(chain.entryPoint.accountOf(owner), MUCH_WEI);
    const { entryPoint, factory: accountFactory } = CONTRACTS;
    const paymaster = { paymaster: contracts.paymaster.address, paymasterOwner: signer };
    const data = { entryPoint, accountFactory, ...paymaster, executors };
    await foundation.eventStore.append(onchainStream(CHAIN_ID), -1, [anEvent({ type: 'ChainPrepared', data })]);
    const apps = appAdministration(foundation);
    const app = { name: 'App', origins: ['https://app.example'], redirectUris: [], scheme: 'v1' as const };
    const { id: appId } = await apps.register(app);
    await apps.change(appId, { chainId: CHAIN_ID, policy: ANY });
    const messageBus = new MemoryMessageBus();
    await messageBus.createTopics(allTopics);
    const { eventStore, readStore } = foundation;
    const operations = new SimulatedNode(chain, random);
    const ports = { eventStore, readStore, keyVault, messageBus, operations };
    const state = new SurvivingState(clock, foundation, chain, settings, appId, ports);
    for (let blocks = 0; blocks <= CONFIRMATIONS; blocks += 1) state.mine();
    return state;
  }

  /** Begins a process. @param ports those of this state, or others with their effects */
  begin(ports: Ports = this.ports): SendingProcess {
    const { settings: chain, clock } = this;
    const { logger } = this.foundation;
    return new SendingProcess({ ports, chain, masterKey, clock, logger });
  }

  /** What somebody sends to nobody who has signed it, and has a key of their own. */
  signedSendOf(key: string): SignedSend {
    const { entryPoint, factory, chainId } = CONTRACTS;
    const unsigned = {
      ...{ sender: accountAddress(factory, STRANGER), nonce: nonceOf(this.signed, 0n) },
      factory: this.signed === 0n ? { address: factory, data: createAccountData(STRANGER) } : undefined,
      callData: executeCall({ to: TARGET, value: 1n, data: '0x' }),
      ...{ callGasLimit: 100_000n, verificationGasLimit: 400_000n, preVerificationGas: 60_000n },
      ...{ maxFeePerGas: 4n * GWEI, maxPriorityFeePerGas: GWEI, paymaster: undefined, signature: '0x' },
    };
    this.signed += 1n;
    const operation = signOperation(unsigned, { chainId, entryPoint, owner: STRANGER_KEY });
    return { key, caller: this.callerOf(0), userOperation: answeredOperationOf(operation) };
  }

  /** What one of the users sends to nobody. */
  sendOf(key: string, { user, sponsor }: { user: number; sponsor: boolean }): KeyedSend {
    const transactionReq = { to: TARGET, value: '1', data: '0x' };
    return { key, caller: this.callerOf(user), request: { chainId: CHAIN_ID, sponsor, transactionReq } };
  }

  private callerOf(user: number): UserCaller {
    const { appId } = this;
    const session = { sessionId: 'ses_1', appId, method: 'wallet' as const, expiresAtMs: Infinity };
    return { kind: 'user', userId: userIdOf(user), ...session };
  }

  /** A block of what nodes were sent, a second later. */
  mine(): void {
    this.clock.time += 1_000;
    this.chain.mine({ timestamp: Math.floor(this.clock.time / 1_000), baseFeePerGas: GWEI });
  }

  /** Once nothing is under way: what is not as it has to be, as sentences. */
  async faults(): Promise<string[]> {
    const events = await everyEvent(this.ports.eventStore);
    const lostWei = DEPOSIT_WEI - this.chain.state.get(named.deposit(CONTRACTS.paymaster.address));
    const ofSends = await sendFaults({ events, chain: this.ports.operations, lostWei });
    return [...ofSends, ...this.unanswered(events), ...(await this.unpublished(events))];
  }

  private unanswered(events: readonly StoredEvent[]): string[] {
    const stored = events.filter(({ type, data }) => type === 'TxSubmitted' && data['replaces'] === null);
    const ids = [...this.answers.values()].map((answer) =>
      typeof answer === 'string'
        ? idOfOperation(CHAIN_ID, CONTRACTS.entryPoint, answer)
        : (answer as { id: string }).id,
    );
    const isSame = isDeepStrictEqual(ids.toSorted(), stored.map(({ data }) => data['transactionId']).toSorted());
    return isSame ? [] : [`${String(stored.length)} are stored, and ${String(ids.length)} were answered`];
  }

  /** Whoever drops repeats must see each event once, and those of a key in order. */
  private async unpublished(events: readonly StoredEvent[]): Promise<string[]> {
    const messages = await everyMessage(this.ports.messageBus, topics.transactions);
    const first = new Map(messages.toReversed().map(({ headers, key }) => [headers['ce_id'] ?? '', key]));
    const seen = [...new Set(messages.map(({ headers }) => headers['ce_id'] ?? ''))];
    const idsOf = (key: string) => seen.filter((id) => first.get(id) === key);
    const published = events.filter(({ type }) => (publishedTypes as string[]).includes(type));
    const expected = Map.groupBy(published, ({ id }) => first.get(id) ?? 'no key');
    const keys = new Set([...first.values(), ...expected.keys()]);
    return [...keys].flatMap((key) => {
      const ids = (expected.get(key) ?? []).map(({ id }) => id);
      return isDeepStrictEqual(ids, idsOf(key)) ? [] : [`the messages of ${key} are not its events, in order`];
    });
  }
}

const userIdOf = (user: number): string => `usr_${String(user)}`;
