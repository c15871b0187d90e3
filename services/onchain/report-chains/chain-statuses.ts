import { executorStream } from '../../../schemas/events/onchain/executor-events.ts';
import { onchainStream } from '../../../schemas/events/onchain/onchain-events.ts';
import type { AccountStatus } from '../../../schemas/http/account/account-routes.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { inTime } from '../../../shared/primitives/waiting/in-time.ts';
import { getOrLoad, TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { transactionsModel } from '../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { executorFold } from '../bundler/domain/executor.ts';
import { preparedChainFold } from '../prepare-chain/domain/prepared-chain.ts';
import { payersOf, type ChainConditions } from '../served-chains/chain-conditions.ts';
import type { ServedChain, ServedChains } from '../served-chains/served-chains.ts';
import { reservedWeiOn } from '../sponsorship/reserved-wei.ts';

const { chain } = chainsModel.collections;
const { transaction } = transactionsModel.collections;

const ANSWERS_WITHIN_MS = 500;
/** The waiting operations of a chain are read at most this often, however many callers there are. */
const KEPT_MS = 1_000;
const CHAINS_MAX = 1_000;
/**
 * If an operation waits longer than this, and no bundle gets into a block meanwhile, the cause is one that an operator
 * has to fix.
 */
const WAITS_LONG_MS = 30_000;
/** Maximum operations examined. */
const WAITING_MAX = 100;

interface StoresUp {
  readStore: boolean;
  eventStore: boolean;
}

interface ReportedChain {
  status: AccountStatus['chains'][number];
  isWell: boolean;
}

interface Parts {
  served: ServedChains;
  conditions: ChainConditions;
  transactor: Transactor;
  readStore: ReadStore;
  /** How long a status waits for each part. Default: 500 ms. */
  answersWithinMs?: number | undefined;
}

/** Reports the status of the served chains, as far as it can be read while a chain or a store is down. */
export class ChainStatuses {
  private readonly kept: TtlCache<Promise<boolean>>;

  constructor(private readonly parts: Parts) {
    this.kept = new TtlCache(parts.transactor.clock, { max: CHAINS_MAX, ttlMs: KEPT_MS });
  }

  /** Returns all served chains by ascending id, within 2 s. */
  report(up: StoresUp): Promise<ReportedChain[]> {
    const sorted = [...this.parts.served.all.values()].sort(
      (left, right) => left.settings.chainId - right.settings.chainId,
    );
    return Promise.all(sorted.map((one) => this.status(one, up)));
  }

  private async status(one: ServedChain, up: StoresUp): Promise<ReportedChain> {
    const { chainId, entryPoint, accountFactory, bundlerUrls: [bundlerUrl] = [] } = one.settings;
    const { transactor, conditions, answersWithinMs = ANSWERS_WITHIN_MS } = this.parts;
    const load = () => transactor.load(onchainStream(chainId), preparedChainFold);
    const prepared = up.eventStore ? (await inTime(load, answersWithinMs))?.state : undefined;
    const payers = payersOf(one.settings, prepared);
    const [condition, read, heldUp] = await Promise.all([
      conditions.of(one, payers, answersWithinMs),
      up.readStore ? inTime(() => this.read(chainId), answersWithinMs) : undefined,
      up.readStore && up.eventStore ? inTime(() => this.heldUp(chainId, payers.executors), answersWithinMs) : undefined,
    ]);
    const { depositWei } = condition ?? {};
    const isCovered = depositWei === undefined || depositWei >= (read?.reserved ?? 0n);
    return {
      status: {
        ...{ chainId, entryPoint, accountFactory, paymaster: payers.paymaster },
        bundler: bundlerUrl === undefined ? 'built-in' : new URL(bundlerUrl).host,
        headBlock: read?.headBlock ?? null,
        paymasterDeposit: depositWei === undefined ? null : String(depositWei),
        operationsPending: read?.operationsPending ?? null,
      },
      isWell: condition?.hasGas === true && isCovered && heldUp !== true,
    };
  }

  private heldUp(chainId: number, executors: readonly string[]): Promise<boolean> {
    return getOrLoad(this.kept, String(chainId), () => this.askHeldUp(chainId, executors));
  }

  /**
   * Whether the sends of a chain are held up: its node refused a bundle in the last 30 s, or an operation has waited that
   * long without a known reason, and no bundle got into a block meanwhile.
   */
  private async askHeldUp(chainId: number, executors: readonly string[]): Promise<boolean> {
    const { transactor, readStore } = this.parts;
    const since = transactor.clock.now() - WAITS_LONG_MS;
    const loaded = await Promise.all(
      executors.map((executor) => transactor.load(executorStream(chainId, executor), executorFold)),
    );
    if (loaded.some(({ state }) => state.refusedAt >= since)) return true;
    if (loaded.some(({ state }) => state.minedAt >= since)) return false;
    const waiting = await readStore.find(transaction.name, {
      filter: { chainId, isOpen: true, status: 'submitted', createdAt: { lte: toIso(since) } },
      limit: WAITING_MAX,
    });
    return waiting.some(({ document }) => transaction.document.parse(document).history.at(-1)?.reason === undefined);
  }

  /** Returns the part of a chain's status that is in the read models. */
  private async read(chainId: number) {
    const { readStore } = this.parts;
    const id = String(chainId);
    const [found, operationsPending, reserved] = await Promise.all([
      readStore.getMany(chain.name, [id]),
      readStore.count(transaction.name, { chainId, isOpen: true, status: 'submitted' }),
      reservedWeiOn(readStore, chainId),
    ]);
    const stored = found.get(id);
    return { headBlock: stored && chain.document.parse(stored.document).head, operationsPending, reserved };
  }
}
