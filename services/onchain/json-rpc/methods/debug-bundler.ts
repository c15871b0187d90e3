import { bundlerStream, type BundlerEvent } from '../../../../schemas/events/onchain/bundler-events.ts';
import { entityEvents, type EntityEvent } from '../../../../schemas/events/onchain/entity-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { RpcParams, RpcResult } from '../../../../schemas/rpc/rpc-methods.ts';
import type { Projections } from '../../../../shared/edge/answers/projections.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { bundlingFold, setMode, type Bundling } from '../../bundler/domain/bundling.ts';
import { reputationStatus } from '../../reputation/domain/entity.ts';
import {
  delay,
  operationOf,
  TAKEN_OUT,
  transactionFold,
  type Transaction,
} from '../../transactions/domain/transaction.ts';
import type { Entities } from '../../reputation/entities.ts';
import { loadTransaction } from '../../transactions/load-transaction.ts';
import { openTransactions } from '../../transactions/open-transactions.ts';
import { answeredOperationOf, quantityOf } from '../../operations/domain/user-operation.ts';
import { addressOf } from './operation-numbers.ts';
import type { RpcContext } from './rpc-context.ts';

/** A bundling process answers sooner than this, if there is one. */
const BUNDLED_WITHIN_MS = 10_000;

interface DebugParts {
  transactor: Transactor;
  readStore: Pick<ReadStore, 'find'>;
  models: Projections;
  entities: Entities;
}

type OnChain = Pick<RpcContext, 'chain' | 'metadata'>;

/** `debug_bundler_*` (ERC-7769): for tests of wallets, with no other senders. Any process answers. */
export class DebugBundler {
  constructor(private readonly parts: DebugParts) {}

  /** Accepted operations stay `submitted`, because anybody who has the signature may submit them, but are not bundled any more. */
  async clearState({ chain, metadata }: OnChain): Promise<'ok'> {
    const { chainId } = chain.settings;
    for await (const { submission } of this.mempool(chainId)) {
      await this.parts.transactor.transact({
        stream: transactionStream(submission.transactionId),
        fold: transactionFold,
        metadata,
        decide: (known) => delay(known, TAKEN_OUT),
      });
    }
    for (const address of (await this.seenOf(chainId)).keys())
      await this.parts.entities.forget({ chainId, address }, metadata);
    return 'ok';
  }

  async dumpMempool({ chain }: Pick<OnChain, 'chain'>): Promise<RpcResult<'debug_bundler_dumpMempool'>> {
    const operations: RpcResult<'debug_bundler_dumpMempool'> = [];
    for await (const transaction of this.mempool(chain.settings.chainId))
      operations.push(answeredOperationOf(operationOf(transaction)));
    return operations;
  }

  /** @throws Refusal dependency_unavailable if no process bundles */
  async sendBundleNow({ chain, metadata }: OnChain): Promise<RpcResult<'debug_bundler_sendBundleNow'>> {
    const { transactor } = this.parts;
    const { chainId } = chain.settings;
    const requestId = transactor.ids.token(20);
    const asked: BundlerEvent = { type: 'BundleRequested', data: { chainId, requestId } };
    const position = await this.change(chainId, () => [asked], metadata);
    const filter = { types: ['BundleRequestAnswered'] };
    const signal = AbortSignal.timeout(BUNDLED_WITHIN_MS);
    for await (const { events } of transactor.store.subscribeAll(position, filter, signal)) {
      const answers = events.map(
        (event) => event as unknown as Extract<BundlerEvent, { type: 'BundleRequestAnswered' }>,
      );
      const answer = answers.find(({ data }) => data.requestId === requestId);
      if (answer) return answer.data.transactionHash;
    }
    throw new Refusal('dependency_unavailable', 'no process bundles the operations of this chain now: ask again');
  }

  async setBundlingMode(
    { mode }: RpcParams<'debug_bundler_setBundlingMode'>,
    { chain, metadata }: OnChain,
  ): Promise<'ok'> {
    const { chainId } = chain.settings;
    await this.change(chainId, (bundling) => setMode(bundling, chainId, mode), metadata);
    return 'ok';
  }

  async setReputation(
    { reputations }: RpcParams<'debug_bundler_setReputation'>,
    { chain, metadata }: OnChain,
  ): Promise<'ok'> {
    const { chainId } = chain.settings;
    const read = reputations.map(({ address, opsSeen, opsIncluded }, at) => ({
      address: addressOf(`reputations.${String(at)}.address`, address),
      reputation: { opsSeen: Number(opsSeen), opsIncluded: Number(opsIncluded) },
    }));
    for (const { address, reputation } of read)
      await this.parts.entities.setReputation({ chainId, address }, reputation, metadata);
    return 'ok';
  }

  async dumpReputation({ chain }: Pick<OnChain, 'chain'>): Promise<RpcResult<'debug_bundler_dumpReputation'>> {
    const { entities, transactor } = this.parts;
    const { chainId } = chain.settings;
    const reputations: RpcResult<'debug_bundler_dumpReputation'> = [];
    for (const [address, seen] of await this.seenOf(chainId)) {
      // Callers are counted in the same way, but are not entities of ERC-7562.
      if (!address.startsWith('0x')) continue;
      const entity = await entities.load({ chainId, address });
      const { opsSeen, opsIncluded } = entity.reputation ?? { opsSeen: 0, opsIncluded: 0 };
      reputations.push({
        address,
        opsSeen: quantityOf(opsSeen + seen.size),
        opsIncluded: quantityOf(opsIncluded + (await this.includedOf(seen))),
        status: reputationStatus(entity, transactor.clock.now()),
      });
    }
    return reputations;
  }

  private async *mempool(chainId: number): AsyncGenerator<Transaction, void, undefined> {
    const { models, transactor, readStore } = this.parts;
    await models.reached(transactionsModel.name, await transactor.store.head());
    for await (const { id, status } of openTransactions(readStore, chainId)) {
      if (status !== 'submitted') continue;
      const transaction = await loadTransaction(transactor, id);
      if (transaction?.status === 'submitted' && transaction.delayedBy !== TAKEN_OUT) yield transaction;
    }
  }

  /** By address, the transactions that were admitted since its reputation was set or forgotten. */
  private async seenOf(chainId: number): Promise<Map<string, Set<string>>> {
    const seen = new Map<string, Set<string>>();
    const filter = { types: Object.keys(entityEvents) };
    for await (const event of readEvery(this.parts.transactor.store, { filter })) {
      const { type, data } = event as unknown as EntityEvent;
      if (data.chainId !== chainId) continue;
      if (type === 'EntityForgotten') seen.delete(data.address);
      else if (type === 'EntityReputationSet') seen.set(data.address, new Set());
      else {
        const ids = seen.get(data.address) ?? new Set();
        if (type === 'OperationAdmitted') ids.add(data.transactionId);
        seen.set(data.address, ids);
      }
    }
    return seen;
  }

  private async includedOf(ids: ReadonlySet<string>): Promise<number> {
    let included = 0;
    for (const id of ids) {
      const { status } = (await loadTransaction(this.parts.transactor, id)) ?? {};
      if (status === 'included' || status === 'reverted') included += 1;
    }
    return included;
  }

  private async change(
    chainId: number,
    decide: (bundling: Bundling) => readonly BundlerEvent[],
    metadata: EventMetadata,
  ): Promise<number> {
    const { position } = await this.parts.transactor.transact({
      stream: bundlerStream(chainId),
      fold: bundlingFold,
      metadata,
      decide,
    });
    return position;
  }
}
