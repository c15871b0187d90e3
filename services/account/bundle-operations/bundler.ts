import type { Logger } from 'pino';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { OperationInclusion, OperationsChain, TransactionReceipt } from '../edge/operations-chain.ts';
import { finaliseBundle, mineBundle, reorganiseBundle, replaceBundler, type Bundle } from '../domain/executor.ts';
import { Bundles } from './bundles.ts';
import type { BundleWork } from './bundle-work.ts';
import type { BundlingControl } from './bundling-control.ts';
import { ChainWindow } from './chain-window.ts';
import type { ExecutorAccount } from './executor-account.ts';
import { ExternalBundlers } from './external-bundlers.ts';
import { ForeignEntities, type OwnContracts } from './foreign-entities.ts';
import { LostBundles } from './lost-bundles.ts';
import { Observations, type Settlements } from './observations.ts';
import { OperationPool, type PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import { RefusedOperations } from './refused-operations.ts';
import type { Replacements } from './replacements.ts';

const BLOCKS_AT_ONCE = 1_000;

export interface BundlerOptions {
  chain: OperationsChain;
  /** Blocks behind the head that count as final. */
  confirmations: number;
  /** Wei a gas. */
  feeCap: bigint;
  records: Records;
  /** Of ERC-7769 bundlers that are used instead of the executors; empty: the executors send. */
  bundlerUrls: readonly string[];
  executors: readonly ExecutorAccount[];
  /** Operations of other contracts have bundles of their own. */
  own: OwnContracts;
  settlements: Settlements;
  replacements: Replacements;
  /** With `RPC_DEBUG`. */
  control?: BundlingControl | undefined;
  clock: Clock;
  logger: Logger;
}

/** What was known of the chain when an earlier process ended. */
export interface Known {
  /** Ids of the transactions that are not final. */
  open: readonly string[];
  /** Everything up to this block was recorded as final; `undefined` where nothing ever was. */
  finalBlock: number | undefined;
}

/**
 * Sends operations in bundles, and records what becomes of them. Each is bound to its sender and nonce, each bundle to its
 * executor's: whatever is repeated, by this process or the next, is executed once. One process at a time does this for a chain.
 */
export class Bundler {
  readonly pool: OperationPool;
  private readonly observations: Observations;
  private readonly bundles: BundleWork;
  private readonly lostBundles: LostBundles;
  private window: ChainWindow | undefined;
  private finalBlock = 0;
  /** Whether blocks were recorded that `catchUp` has not seen. */
  private isBehind = false;

  constructor(private readonly options: BundlerOptions) {
    const { chain, control } = options;
    this.pool = new OperationPool(control !== undefined);
    const watch = (inclusion: OperationInclusion) => this.window?.add(inclusion) === true;
    this.observations = new Observations({ ...options, pool: this.pool, watch });
    const refused = new RefusedOperations({
      ...options,
      pool: this.pool,
      lookAgain: (one) => this.lookAgain(one),
    });
    const foreign = new ForeignEntities({ ...options, refused });
    const parts = { ...options, pool: this.pool, refused, foreign, entryPoint: chain.entryPoint };
    const { bundlerUrls: urls } = options;
    this.bundles = urls.length === 0 ? new Bundles(parts) : new ExternalBundlers({ ...parts, urls });
    this.lostBundles = new LostBundles({ ...options, bundles: this.bundles });
  }

  /** The newest block up to which everything is recorded and final. */
  get recordedUpTo(): number {
    return this.finalBlock;
  }

  /** Whether something is to be looked for soon: a bundle is under way, or waits for one. */
  get isBusy(): boolean {
    const { executors, control } = this.options;
    return executors.some(({ underWay }) => underWay) || (this.bundles.waits && !control?.holdsBack);
  }

  /** Takes over what earlier processes have left. Begins the work: what they decide from now on is refused. */
  async recover({ open, finalBlock }: Known): Promise<void> {
    const { chain, confirmations, executors, records } = this.options;
    for (const executor of executors) {
      const subject = { chainId: chain.chainId, executor: executor.address };
      executor.state = await records.executor(executor.address, (state) => replaceBundler(state, subject));
      executor.epoch = executor.state.epoch;
    }
    for (const id of open) this.pool.put(id, await records.load(id));
    const newestFinal = Math.max(0, (await chain.head()).number - confirmations);
    const firstKnown = Math.min(
      newestFinal,
      ...[...this.pool.all()].map((one) => one.transaction.submission.headBlock),
    );
    // A chain that is shorter than what was recorded has lost blocks: it is read again from there.
    const from = Math.min(finalBlock ?? Math.max(0, firstKnown - confirmations), newestFinal);
    const seen = await this.readFinal(from + 1, newestFinal);
    this.finalBlock = newestFinal;
    this.window = new ChainWindow(chain, this.finalBlock + 1);
    await this.follow();
    await this.undoWhatLeft(seen);
    for (const executor of executors) this.bundles.assign(executor);
  }

  /** Takes over a transaction that was submitted, or replaced, by another part of the service. */
  async take({ type, data }: TransactionEvent): Promise<void> {
    const { chain, records } = this.options;
    if (type !== 'TxSubmitted' || data.chainId !== chain.chainId || this.pool.get(data.transactionId)) return;
    this.pool.put(data.transactionId, await records.load(data.transactionId));
  }

  /**
   * Looks at the chain, records what became of operations, and sends what can be sent.
   * @returns whether anything was done. @throws ChainUnavailable, BundlerWasReplaced
   */
  async step(): Promise<boolean> {
    const hasMoved = await this.follow();
    if (this.isBehind) await this.catchUp();
    await this.bundles.maintain();
    return (await this.fill()) || hasMoved;
  }

  private async fill(): Promise<boolean> {
    const { control } = this.options;
    if (!control) return this.bundles.fill(this.head);
    const before = new Set(this.bundlesUnderWay());
    await control.refresh(this.pool);
    if (control.holdsBack) return false;
    const hasFilled = await this.bundles.fill(this.head);
    const sent = this.bundlesUnderWay().find((hash) => !before.has(hash));
    await control.answer(sent, this.bundles.waits);
    return hasFilled;
  }

  private bundlesUnderWay(): string[] {
    return this.options.executors.flatMap(({ underWay }) => underWay?.versions.at(-1)?.transactionHash ?? []);
  }

  private get head() {
    const head = this.window?.head;
    if (!head) throw new Error('the chain has not been looked at');
    return head;
  }

  private async follow(): Promise<boolean> {
    const { window } = this;
    if (!window) throw new Error('recover comes first');
    const change = await window.look();
    if (change.joined.length === 0 && change.left.length === 0) return false;
    await this.observations.record(change);
    change.takeOver();
    this.isBehind = true;
    this.bundles.blockCame();
    return true;
  }

  /** What follows from blocks that are recorded. Bundles first: one whose block has just left the chain is not final. */
  private async catchUp(): Promise<void> {
    await this.watchBundles();
    const newestFinal = this.head.number - this.options.confirmations;
    if (newestFinal > this.finalBlock) {
      await this.observations.finalise(this.window?.upTo(newestFinal) ?? []);
      await this.finaliseBundles(newestFinal);
      await this.lostBundles.look(newestFinal, (executor, bundle) => this.watchBundle(executor, bundle));
      this.window?.forget(newestFinal);
      this.finalBlock = newestFinal;
    }
    this.isBehind = false;
  }

  private async lookAgain(one: PooledOperation): Promise<void> {
    await this.observations.lookAgain(one, { upTo: this.head.number, final: this.finalBlock });
  }

  /** A node has left an operation out of the logs of many blocks: of one block it leaves out less. */
  private async readAgain(one: PooledOperation, finalBlock: number): Promise<void> {
    await this.observations.lookAgain(one, { from: finalBlock, upTo: finalBlock, final: this.finalBlock });
    if (!this.pool.get(one.id)) return;
    throw new ChainUnavailable(`a node leaves out logs of the final block ${String(finalBlock)}`);
  }

  /** Reads blocks that were final before this process began. Returns the hashes of those that have operations. */
  private async readFinal(from: number, upTo: number): Promise<Set<string>> {
    const { chain } = this.options;
    const seen = new Set<string>();
    for (let first = from; first <= upTo; first += BLOCKS_AT_ONCE) {
      const last = Math.min(upTo, first + BLOCKS_AT_ONCE - 1);
      const inclusions = await chain.inclusions(first, last);
      for (const { blockHash } of inclusions) seen.add(blockHash);
      const [block] = await chain.blocks([last]);
      if (!block) throw new ChainUnavailable(`a node does not have the final block ${String(last)}`);
      const joined = [{ ...block, inclusions }];
      await this.observations.record({ left: [], joined });
      await this.observations.finalise(joined);
    }
    return seen;
  }

  /** Blocks that were recorded may have left the chain while no process looked. */
  private async undoWhatLeft(seen: ReadonlySet<string>): Promise<void> {
    const isThere = (hash: string) => seen.has(hash) || this.window?.block(hash) !== undefined;
    for (const one of [...this.pool.all()]) {
      const { block } = one.transaction;
      if (!block || isThere(block.hash)) continue;
      const { hash, number } = block;
      if (number !== undefined && (await this.isFinal({ hash, number }))) await this.readAgain(one, number);
      else await this.observations.leave(one, hash);
    }
    await this.options.settlements.undoWhatLeft(async (block) => isThere(block.hash) || this.isFinal(block));
    await this.watchBundles({ recovers: true });
  }

  /** Looks which bundles a block has, and which one has left. */
  private async watchBundles({ recovers = false } = {}): Promise<void> {
    for (const executor of this.options.executors) {
      for (const bundle of executor.state.bundles) await this.watchBundle(executor, bundle, { recovers });
    }
  }

  private async watchBundle(executor: ExecutorAccount, bundle: Bundle, { recovers = false } = {}): Promise<void> {
    const { chain, records } = this.options;
    const { mined, nonce } = bundle;
    if (mined && (this.window?.block(mined.blockHash) || (mined.blockNumber <= this.finalBlock && !recovers))) return;
    const subject = { chainId: chain.chainId, executor: executor.address, nonce };
    const receipts = await chain.receipts(bundle.versions.map(({ transactionHash }) => transactionHash));
    const receipt = await this.firstInChain(receipts);
    if (mined && mined.blockHash === receipt?.blockHash) return;
    if (mined) {
      const { blockHash } = mined;
      executor.state = await records.executor(executor.address, (state) =>
        reorganiseBundle(state, { ...subject, blockHash }),
      );
      this.bundles.assign(executor);
    }
    if (receipt) {
      const { transactionHash, blockHash, blockNumber, success } = receipt;
      // What follows from it comes first: a process that ends between the two repeats it.
      await this.requireSeen(bundle);
      await this.bundles.mined(bundle, { executor, success, transactionHash });
      executor.state = await records.executor(executor.address, (state) =>
        mineBundle(state, { ...subject, transactionHash, blockHash, blockNumber, success }),
      );
    }
  }

  /** A receipt alone is not believed: its block has to be in the chain. */
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

  /** Whether a block is in the part of the chain that is not watched any more. */
  private async isFinal({ hash, number }: { hash: string; number: number }): Promise<boolean> {
    if (number > this.finalBlock) return false;
    const [block] = await this.options.chain.blocks([number]);
    return block?.hash === hash;
  }

  /** Each operation whose nonce a bundle used must have been seen: a node may have left some out. */
  private async requireSeen({ operations }: Bundle): Promise<void> {
    for (const id of operations) {
      const one = this.pool.get(id);
      if (one?.transaction.status === 'submitted') await this.lookAgain(one);
    }
  }

  private async finaliseBundles(newestFinal: number): Promise<void> {
    const { chain, records, executors } = this.options;
    for (const executor of executors) {
      for (const { nonce, mined } of executor.state.bundles) {
        if (!mined || mined.blockNumber > newestFinal) continue;
        const subject = { chainId: chain.chainId, executor: executor.address, nonce };
        executor.state = await records.executor(executor.address, (state) => finaliseBundle(state, subject));
      }
    }
  }
}
