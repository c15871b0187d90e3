import type { Logger } from 'pino';
import type { TransactionRequest } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { RpcParams } from '../../../../schemas/rpc/rpc-methods.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import type { ChainSettings } from '../../../../shared/config/chain-settings.ts';
import { IdempotentRequests } from '../../../../shared/edge/requests/idempotent-requests.ts';
import { RateLimits } from '../../../../shared/edge/limits/rate-limits.ts';
import type { EventStore, Position } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import type { KeyVault } from '../../../../shared/key-vault/key-vault.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import type { MessageBus } from '../../../../shared/message-bus/message-bus.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { sha256, systemIds } from '../../../../shared/primitives/ids.ts';
import { reservationsModel } from '../../../../shared/read-models/onchain/reservations.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import {
  applyEvent,
  checkpointName,
  eventTypesFor,
  recoverOperations,
  type StartedBundler,
} from '../../../onchain/bundler/recover-operations.ts';
import { ChainConditions } from '../../../onchain/served-chains/chain-conditions.ts';
import { CountedSimulations } from '../../../onchain/served-chains/counted-simulations.ts';
import { Entities } from '../../../onchain/reputation/entities.ts';
import type { OperationsChain } from '../../../onchain/chain/operations-chain.ts';
import { ServedChain, ServedChains } from '../../../onchain/served-chains/served-chains.ts';
import { Apps } from '../../../../shared/auth/apps.ts';
import { ForeignOperations } from '../../../onchain/json-rpc/methods/foreign-operations.ts';
import { SignedOperations } from '../../../onchain/json-rpc/methods/signed-operations.ts';
import { beginBundling } from '../../../onchain/bundler/begin-bundling.ts';
import { onchainParts } from '../../../onchain/onchain-parts.ts';
import {
  SendTransaction,
  SendTransactionHandler,
} from '../../../onchain/sending/send-transaction/send-transaction.handler.ts';
import { MessageMacs } from '../../../../shared/message-bus/genuine/message-macs.ts';
import { projectBatch } from '../../../projector/testing/project-once.ts';
import { publishedTypes } from '../../../relay/publish-events/address-event.ts';
import { Checkpoint } from '../../../relay/publish-events/checkpoint.ts';
import { BatchPublisher } from '../../../relay/publish-events/publish-batch.ts';

/** Everything outside of a process that it uses. */
export interface Ports {
  eventStore: EventStore;
  readStore: ReadStore;
  messageBus: MessageBus;
  keyVault: KeyVault;
  operations: OperationsChain;
}

interface ProcessOptions {
  ports: Ports;
  chain: ChainSettings;
  masterKey: Uint8Array;
  clock: Clock;
  logger: Logger;
}

/** A send with its Idempotency-Key. */
export interface KeyedSend {
  key: string;
  caller: UserCaller;
  request: TransactionRequest;
}

/** An operation signed by its owner, sent over `/rpc`. */
export interface SignedSend {
  key: string;
  caller: UserCaller;
  userOperation: RpcParams<'eth_sendUserOperation'>['userOperation'];
}

const EVENTS_MAX = 1_000;
/** More than any situation needs. */
const STEPS_MAX = 50;
const MODELS = [transactionsModel, reservationsModel];

/**
 * The parts of the account service, the projector and the relay that handle sends. Each part works only when it is told
 * to, without timers.
 */
export class SendingProcess {
  private readonly requests: IdempotentRequests;
  private readonly handler: SendTransactionHandler;
  private readonly signed: SignedOperations;
  private readonly served: ServedChain;
  private readonly bundling: Parameters<typeof beginBundling>[1];
  private begun: (StartedBundler & { after: Position }) | undefined;

  constructor(private readonly options: ProcessOptions) {
    const { ports, chain, masterKey, clock, logger } = options;
    const { eventStore, readStore, keyVault } = ports;
    const personalData = personalDataOf({ keyVault, masterKey, clock, eventStore });
    const transactor = new Transactor(eventStore, clock, systemIds, personalData);
    const { keys } = personalData;
    const shared = { foundation: { readStore, clock }, transactor, keys, apps: new Apps(transactor), chains: [chain] };
    const parts = onchainParts(shared);
    const { drafts, nonces, sponsors, submissions, deposits } = parts;
    this.served = new ServedChain(chain, ports.operations, transactor);
    const chains = new ServedChains(new Map([[chain.chainId, this.served]]));
    const conditions = new ChainConditions(clock);
    this.requests = new IdempotentRequests(transactor, masterKey, personalData);
    const simulations = new CountedSimulations(new RateLimits({ RATE_LIMITS: 'off' }));
    const needed = [transactor, chains, drafts, nonces, sponsors, submissions, conditions, simulations] as const;
    this.handler = new SendTransactionHandler(...needed);
    const foreign = new ForeignOperations(new Entities(transactor));
    this.signed = new SignedOperations(transactor, nonces, foreign, deposits, conditions, simulations);
    this.bundling = { foundation: { clock, logger, settings: { RPC_DEBUG: 'off' } }, transactor, keys, ...parts };
  }

  /** Returns the answer to a send; a repeated send gets the same answer. */
  answer(send: KeyedSend | SignedSend): Promise<unknown> {
    return 'request' in send ? this.send(send) : this.take(send);
  }

  private async take({ key, caller, userOperation }: SignedSend): Promise<string> {
    const chain = this.served;
    const app = await this.bundling.sponsors.payingApp(undefined, caller.appId);
    const metadata = { correlationId: key, actor: { type: 'user' as const, id: caller.userId } };
    const { entryPoint } = chain.settings;
    return this.signed.send(
      { userOperation, entryPoint },
      { chain, app, caller, metadata, ended: new AbortController().signal },
    );
  }

  private async send({ key, caller, request }: KeyedSend): Promise<unknown> {
    const { userId, sessionId } = caller;
    const metadata = { correlationId: key, actor: { type: 'user' as const, id: userId } };
    const fingerprint = sha256(JSON.stringify(request));
    const answer = await this.requests.once(
      { caller: `session:${sessionId}`, key, fingerprint, userId, metadata },
      async (onceId) => {
        const { sent } = await this.handler.execute(new SendTransaction(request, caller, onceId, metadata));
        return { status: 201, headers: {}, body: sent };
      },
    );
    return answer?.body;
  }

  /** Brings the read models up to date. */
  async project(): Promise<void> {
    const { eventStore, readStore } = this.options.ports;
    for (const model of MODELS) {
      const after = await readStore.position(model.name);
      const batch = await eventStore.readAll(after, { types: model.eventTypes }, EVENTS_MAX);
      await projectBatch(model, readStore, batch);
    }
  }

  /** Publishes the stored events. */
  async relay(): Promise<void> {
    const { eventStore, readStore, messageBus } = this.options.ports;
    const checkpoint = new Checkpoint(readStore);
    const after = await checkpoint.load();
    const batch = await eventStore.readAll(after, { types: publishedTypes }, EVENTS_MAX);
    const macs = new MessageMacs(this.options.masterKey);
    await new BatchPublisher(messageBus, macs, this.options.logger).publish(batch.events, new AbortController().signal);
    checkpoint.advance(batch);
    await checkpoint.flush();
  }

  /** Reads the chain, and sends what can be sent. */
  async bundle(): Promise<void> {
    const { ports, chain } = this.options;
    const begun = (this.begun ??= await this.begin());
    const { events } = await ports.eventStore.readAll(begun.after, { types: eventTypesFor({}) }, EVENTS_MAX);
    for (const event of events) {
      await applyEvent(begun, event);
      begun.after = event.position;
    }
    for (let steps = 0, hasMoved = true; hasMoved; steps += 1) {
      if (steps === STEPS_MAX) throw new Error('a bundler goes on and on');
      hasMoved = await begun.bundler.step();
      await ports.readStore.apply(checkpointName(chain.chainId), [], begun.bundler.recordedUpTo);
    }
  }

  private async begin(): Promise<StartedBundler & { after: Position }> {
    const { ports, chain } = this.options;
    const begun = await beginBundling(this.served, this.bundling);
    if (!begun) throw new Error('the chain is not prepared');
    return { ...begun, after: await recoverOperations(begun, { chainId: chain.chainId, ...ports }) };
  }
}
