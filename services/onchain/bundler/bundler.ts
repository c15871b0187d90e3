import type { Logger } from 'pino';
import type { TransactionEvent } from '../../../schemas/events/onchain/transaction-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { OperationInclusion, OperationsChain, TransactionReceipt } from '../chain/operations-chain.ts';
import { finaliseBundle, mineBundle, reorganiseBundle, type Bundle } from './domain/executor.ts';
import { Bundles } from './bundles/bundles.ts';
import type { BundleWork } from './bundles/bundle-work.ts';
import type { BundlingControl } from './bundling-control.ts';
import { ChainWindow } from './chain-window.ts';
import type { ExecutorAccount } from './bundles/executor-account.ts';
import { ExternalBundlers } from './bundles/external-bundlers.ts';
import { ForeignEntities, type OwnContracts } from './mempool/foreign-entities.ts';
import { LostBundles } from './bundles/lost-bundles.ts';
import { Observations } from './observations.ts';
import type { ReservationsOnChain } from './reservations-on-chain.ts';
import { Mempool, type MempoolEntry } from './mempool/mempool.ts';
import type { BundlerStreams } from './mempool/bundler-streams.ts';
import { RetryPolicy } from './mempool/retry-policy.ts';
import type { Resigner } from './mempool/resigner.ts';

/** Maximum number of blocks in one request for logs. */
const BLOCKS_AT_ONCE = 1_000;

export interface BundlerOptions {
  chain: OperationsChain;
  /** A block is final once this many blocks follow it. */
  confirmations: number;
  /** Maximum `maxFeePerGas` of a bundle, in wei. */
  feeCap: bigint;
  streams: BundlerStreams;
  /** URLs of external ERC-7769 bundlers, which get the operations. If empty, the `executors` send the operations. */
  bundlerUrls: readonly string[];
  executors: readonly ExecutorAccount[];
  /** The factory and paymaster of this service, which are never banned for a reverted bundle. */
  own: OwnContracts;
  settlements: ReservationsOnChain;
  resigner: Resigner;
  /** Applies the `debug_bundler_*` calls; `undefined` unless the setting `RPC_DEBUG` is `on`. */
  control?: BundlingControl | undefined;
  clock: Clock;
  logger: Logger;
}

/** What earlier processes stored, from which this process continues. */
export interface RecoveryPoint {
  /** Transaction ids of the operations whose outcome is not final. */
  open: readonly string[];
  /** Number of the newest block that was recorded as final; `undefined` if no block was. */
  finalBlock: number | undefined;
}

/**
 * Sends user operations in bundles and records the outcome of each operation; one process at a time for each chain.
 * Any process may repeat any step: an operation is bound to a nonce of its account, and a bundle to a nonce of its
 * executor. The chain executes each at most once.
 *
 *     mempool → chosen → tried → signed and stored → sent → mined → final
 *        ↑                 │                         │        │
 *        │                 │                         │        └ orphaned by a reorganisation: pending again
 *        │                 └ operation fails: waits  ├ left out of 3 blocks: fees raised, sent again
 *        │                                           ├ refused: withdrawn, or an empty transaction uses the nonce
 *        │                                           └ nonce used by somebody else: lost
 *        └─ operations of a bundle that was withdrawn, lost, reverted or replaced by an empty transaction
 */
export class Bundler {
  readonly mempool: Mempool;
  private readonly observations: Observations;
  private readonly bundles: BundleWork;
  private readonly lostBundles: LostBundles;
  private window: ChainWindow | undefined;
  private finalBlock = 0;
  /** Whether blocks came after the last `catchUp`, which records mined bundles and final blocks. */
  private hasUnprocessedBlocks = false;

  constructor(private readonly options: BundlerOptions) {
    const { chain, control } = options;
    this.mempool = new Mempool(control !== undefined);
    const addToWindow = (inclusion: OperationInclusion) => this.window?.add(inclusion) === true;
    this.observations = new Observations({ ...options, mempool: this.mempool, addToWindow });
    const retries = new RetryPolicy({
      ...options,
      mempool: this.mempool,
      recheckInclusion: (entry) => this.recheckInclusion(entry),
    });
    const foreign = new ForeignEntities({ ...options, retries });
    const parts = { ...options, mempool: this.mempool, retries, foreign, entryPoint: chain.entryPoint };
    const { bundlerUrls: urls } = options;
    this.bundles = urls.length === 0 ? new Bundles(parts) : new ExternalBundlers({ ...parts, urls });
    this.lostBundles = new LostBundles({ ...options, bundles: this.bundles });
  }

  /** Number of the newest block that is recorded as final. */
  get recordedUpTo(): number {
    return this.finalBlock;
  }

  /** Whether a bundle is pending, or an operation waits for a bundle while bundling is not paused. */
  get isBusy(): boolean {
    const { executors, control } = this.options;
    return executors.some(({ pending }) => pending) || (this.bundles.hasWaiting && !control?.isPaused);
  }

  /**
   * Starts a new epoch of every executor, so that no earlier process can sign bundles any more. Then loads the stored
   * operations, and reads the blocks that came while no process ran.
   */
  async recover({ open, finalBlock }: RecoveryPoint): Promise<void> {
    const { chain, confirmations, executors, streams } = this.options;
    for (const executor of executors) await executor.startEpoch(streams);
    for (const id of open) this.mempool.put(id, await streams.loadTransaction(id));
    const newestFinal = Math.max(0, (await chain.head()).number - confirmations);
    const firstKnown = Math.min(
      newestFinal,
      ...[...this.mempool.all()].map((entry) => entry.transaction.submission.headBlock),
    );
    // A chain that lost blocks may now end below the block that was recorded as final.
    const from = Math.min(finalBlock ?? Math.max(0, firstKnown - confirmations), newestFinal);
    const seen = await this.readFinal(from + 1, newestFinal);
    this.finalBlock = newestFinal;
    this.window = await ChainWindow.open(chain, this.finalBlock);
    await this.follow();
    await this.revertOrphaned(seen);
    for (const executor of executors) this.bundles.assign(executor);
  }

  /** Adds a newly submitted operation to the mempool, unless the mempool has it or it is for another chain. */
  async addSubmitted({ type, data }: TransactionEvent): Promise<void> {
    const { chain, streams } = this.options;
    if (type !== 'TxSubmitted' || data.chainId !== chain.chainId || this.mempool.get(data.transactionId)) return;
    this.mempool.put(data.transactionId, await streams.loadTransaction(data.transactionId));
  }

  /**
   * Reads new blocks, records the outcomes of operations, and sends bundles.
   * @returns whether to call `step` again without a pause. @throws ChainUnavailable, BundlerWasReplaced
   */
  async step(): Promise<boolean> {
    const hasProgressed = await this.follow();
    if (this.hasUnprocessedBlocks) await this.catchUp();
    await this.bundles.resubmitStuck();
    return (await this.sendBundles()) || hasProgressed;
  }

  private async sendBundles(): Promise<boolean> {
    const { control } = this.options;
    await control?.refresh(this.mempool);
    if (control?.isPaused) return false;
    const { hasProgressed, transactionHashes } = await this.bundles.sendBundles(this.head);
    await control?.answer(transactionHashes[0], this.bundles.hasWaiting);
    return hasProgressed;
  }

  private get head() {
    const head = this.window?.head;
    if (!head) throw new Error('recover must run before anything else');
    return head;
  }

  private async follow(): Promise<boolean> {
    const { window } = this;
    if (!window) throw new Error('recover must run before step');
    const change = await window.poll();
    if (change.added.length === 0) return false;
    await this.observations.record(change);
    change.apply();
    this.hasUnprocessedBlocks = true;
    this.bundles.onNewBlock();
    return true;
  }

  /** Records orphaned and mined bundles before final ones, so that no orphaned bundle becomes final. */
  private async catchUp(): Promise<void> {
    await this.watchBundles();
    const newestFinal = this.head.number - this.options.confirmations;
    if (newestFinal > this.finalBlock) {
      await this.observations.finalise(this.window?.upTo(newestFinal) ?? []);
      await this.finaliseBundles(newestFinal);
      await this.lostBundles.check(newestFinal, (executor, bundle) => this.watchBundle(executor, bundle));
      this.window?.finalise(newestFinal);
      this.finalBlock = newestFinal;
    }
    this.hasUnprocessedBlocks = false;
  }

  private async recheckInclusion(entry: MempoolEntry): Promise<void> {
    await this.observations.recheckInclusion(entry, { upTo: this.head.number, final: this.finalBlock });
  }

  /**
   * Searches one final block for an operation: a node that omits logs of many blocks may return those of one block.
   * @throws ChainUnavailable if the operation is not found
   */
  private async readAgain(entry: MempoolEntry, finalBlock: number): Promise<void> {
    await this.observations.recheckInclusion(entry, { from: finalBlock, upTo: finalBlock, final: this.finalBlock });
    if (!this.mempool.get(entry.id)) return;
    throw new ChainUnavailable(`a node omits logs of the final block ${String(finalBlock)}`);
  }

  /** Records the operations in blocks `from`…`upTo`, which are final. Returns the hashes of blocks with operations. */
  private async readFinal(from: number, upTo: number): Promise<Set<string>> {
    const { chain } = this.options;
    const seen = new Set<string>();
    for (let first = from; first <= upTo; first += BLOCKS_AT_ONCE) {
      const last = Math.min(upTo, first + BLOCKS_AT_ONCE - 1);
      const inclusions = await chain.inclusions(first, last);
      for (const { blockHash } of inclusions) seen.add(blockHash);
      const [block] = await chain.blocks([last]);
      if (!block) throw new ChainUnavailable(`a node does not have the final block ${String(last)}`);
      const added = [{ ...block, inclusions }];
      await this.observations.record({ orphaned: [], added });
      await this.observations.finalise(added);
    }
    return seen;
  }

  /** Undoes included operations, settled reservations and mined bundles in blocks orphaned while no process ran. */
  private async revertOrphaned(seen: ReadonlySet<string>): Promise<void> {
    const isThere = (hash: string) => seen.has(hash) || this.window?.block(hash) !== undefined;
    for (const entry of [...this.mempool.all()]) {
      const { block } = entry.transaction;
      if (!block || isThere(block.hash)) continue;
      const { hash, number } = block;
      if (number !== undefined && (await this.isFinal({ hash, number }))) await this.readAgain(entry, number);
      else await this.observations.revertInclusion(entry, hash);
    }
    await this.options.settlements.revertOrphaned(async (block) => isThere(block.hash) || this.isFinal(block));
    await this.watchBundles({ recovers: true });
  }

  /** Records which bundles of the executors were mined, or are pending again after a reorganisation. */
  private async watchBundles({ recovers = false } = {}): Promise<void> {
    for (const executor of this.options.executors) {
      for (const bundle of executor.state.bundles) await this.watchBundle(executor, bundle, { recovers });
    }
  }

  private async watchBundle(executor: ExecutorAccount, bundle: Bundle, { recovers = false } = {}): Promise<void> {
    const { chain, streams } = this.options;
    const { mined, nonce } = bundle;
    if (mined && (this.window?.block(mined.blockHash) || (mined.blockNumber <= this.finalBlock && !recovers))) return;
    const subject = { chainId: chain.chainId, executor: executor.address, nonce };
    const receipts = await chain.receipts(bundle.versions.map(({ transactionHash }) => transactionHash));
    const receipt = await this.firstInChain(receipts);
    if (mined && mined.blockHash === receipt?.blockHash) return;
    if (mined) {
      const { blockHash } = mined;
      await executor.record(streams, (state) => reorganiseBundle(state, { ...subject, blockHash }));
      this.bundles.assign(executor);
    }
    if (receipt) {
      const { transactionHash, blockHash, blockNumber, success } = receipt;
      // The event BundleMined is appended last: after a crash before that append, the next process repeats these steps.
      await this.recheckOperations(bundle);
      await this.bundles.onMined(bundle, { executor, success, transactionHash });
      await executor.record(streams, (state) =>
        mineBundle(state, { ...subject, transactionHash, blockHash, blockNumber, success }),
      );
    }
  }

  /** Returns the first receipt whose block is on the chain, if any: nodes may return receipts of orphaned blocks. */
  private async firstInChain(
    receipts: readonly (TransactionReceipt | undefined)[],
  ): Promise<TransactionReceipt | undefined> {
    for (const receipt of receipts) {
      if (!receipt) continue;
      const { blockHash, blockNumber } = receipt;
      if (this.window?.block(blockHash) || (await this.isFinal({ hash: blockHash, number: blockNumber })))
        return receipt;
    }
    return undefined;
  }

  /** Whether a block is final and on the chain. Asks a node: `window` keeps no blocks below the newest final block. */
  private async isFinal({ hash, number }: { hash: string; number: number }): Promise<boolean> {
    if (number > this.finalBlock) return false;
    const [block] = await this.options.chain.blocks([number]);
    return block?.hash === hash;
  }

  /** Searches the blocks for operations of a mined bundle that no recorded log shows: a node may have omitted logs. */
  private async recheckOperations({ operations }: Bundle): Promise<void> {
    for (const id of operations) {
      const entry = this.mempool.get(id);
      if (entry?.transaction.status === 'submitted') await this.recheckInclusion(entry);
    }
  }

  private async finaliseBundles(newestFinal: number): Promise<void> {
    const { chain, streams, executors } = this.options;
    for (const executor of executors) {
      for (const { nonce, mined } of executor.state.bundles) {
        if (!mined || mined.blockNumber > newestFinal) continue;
        const subject = { chainId: chain.chainId, executor: executor.address, nonce };
        await executor.record(streams, (state) => finaliseBundle(state, subject));
      }
    }
  }
}
