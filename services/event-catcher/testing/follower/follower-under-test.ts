import { pino } from 'pino';
import type {
  AsideEvent,
  ChainEvent,
  ChainProgressEvent,
  ChainVerificationEvent,
} from '../../../../schemas/events/event-catcher/chain-events.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import type { ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { MemoryEventStore } from '../../../../shared/testing/engines/event-store.memory.ts';
import type { EventStore, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { changesIn } from '../../domain/observed-records.ts';
import type { BoundsOfBackfill } from '../../follow-chain/backfill/backfill-bounds.ts';
import { ProgressMeter } from '../../follow-chain/chains/progress-meter.ts';
import { projectedRecords } from '../projected-records.ts';
import { Registrations, type Registered, type RegisteredWatch } from '../registrations.ts';
import { approvalWatch, transferWatch } from '../example-watches.ts';
import { differenceFrom } from './difference.ts';
import { following, followSettings } from './following.ts';
import { dyingAfter } from './faulty-stores.ts';

const CHAIN_ID = 2484;
const CAUGHT_UP_WITHIN_MS = 20_000;

export const contract = transferWatch.contractAddress.toLowerCase();
export const otherContract = `0x${'0'.repeat(39)}1`;
const word = (value: number) => value.toString(16).padStart(64, '0');

const log = (topic0: string | null, value: number) => ({
  address: contract,
  topics: [topic0 ?? '', `0x${word(1)}`, `0x${word(2)}`],
  data: `0x${word(value)}`,
});
/** The log of a transfer of `value` from address 1 to address 2. */
export const transfer = (value: number) => log(transferWatch.topic0, value);
export const approval = (value: number) => log(approvalWatch.topic0, value);

/** Mines blocks in which each contract has zero, one and two transfers in turn, and with transfers an approval, too. */
export const mineSome = (chain: MemoryChain, blocks: number, from = 0, contracts = [contract]): void => {
  for (let index = 0; index < blocks; index += 1) {
    const transfers = Array.from({ length: index % 3 }, (_, at) => transfer(from + index * 10 + at));
    const logs = transfers.length > 0 ? [...transfers, approval(from + index)] : [];
    chain.mine(contracts.flatMap((address) => logs.map((one) => ({ ...one, address }))));
  }
};

const silent = pino({ level: 'silent' });

/** A follower on a chain and a store in memory. It can be stopped, killed and started again. */
export class FollowerUnderTest {
  readonly chain = new MemoryChain(CHAIN_ID);
  readonly store = new MemoryEventStore();
  readonly meter = new ProgressMeter(systemClock);
  private readonly registrations = new Registrations(this.store);
  loop: SupervisedLoop | undefined;
  /** How often blocks are verified that have become final. */
  verifiedEveryMs = 3_600_000;
  /** Whether what is stored cannot be read back. */
  isReadStoreAway = false;
  /** Of each backfill. */
  most: BoundsOfBackfill | undefined;
  /** How often the follower was started, including restarts by its supervisor. */
  starts = 0;
  /** What the lease tells the next follower that starts. */
  nothingInFlightBefore = true;
  rangesMax: number;

  /** @param of `blocks` are mined at first, as by `mineSome`. */
  constructor(
    private readonly of: { blocks?: number; confirmations?: number; isDevelopment?: boolean; rangesMax?: number } = {},
  ) {
    this.rangesMax = of.rangesMax ?? 1_000;
    mineSome(this.chain, of.blocks ?? 0);
  }

  start({
    store = this.store,
    reader = this.chain,
  }: { store?: EventStore; reader?: ChainReader } = {}): SupervisedLoop {
    const { of, rangesMax } = this;
    const { confirmations = 5, isDevelopment = false } = of;
    const verification = { everyMs: this.verifiedEveryMs, callMs: 0 };
    const followed = followSettings({ confirmations, isDevelopment, rangesMax, verification });
    const { meter, most } = this;
    const readStore = projectedRecords(store, { isAway: () => this.isReadStoreAway });
    const follow = following(followed, { eventStore: store, reader, meter, most, readStore });
    const loop = new SupervisedLoop('follower', silent, async (signal, reportRunning) => {
      this.starts += 1;
      const term = { nothingInFlightBefore: this.nothingInFlightBefore, leavesInFlight: false };
      this.nothingInFlightBefore = false;
      await follow(signal, reportRunning, term).finally(() => {
        if (this.loop === loop) this.nothingInFlightBefore = !term.leavesInFlight;
      });
    });
    this.loop = loop;
    loop.start();
    return loop;
  }

  /** Starts, and returns when it has stored what the chain has. */
  async follow(given?: Parameters<FollowerUnderTest['start']>[0]): Promise<void> {
    this.start(given);
    await this.expectChain();
  }

  async stop(): Promise<void> {
    await this.loop?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Waits until something is so. */
  async until(isSo: () => unknown, otherwise: string): Promise<void> {
    await eventually(isSo, CAUGHT_UP_WITHIN_MS, otherwise);
  }

  get registered(): ReadonlyMap<string, RegisteredWatch> {
    return this.registrations.byId;
  }

  register(data: Partial<Registered> = {}): Promise<void> {
    return this.registerExactly({ ...transferWatch, ...data });
  }

  registerExactly(data: Registered): Promise<void> {
    return this.registrations.register(data);
  }

  /** Extends a watch backwards. */
  extend(startBlock: number, watchId = transferWatch.watchId): Promise<void> {
    return this.registrations.extend(watchId, startBlock);
  }

  /** Nobody wants the blocks of a watch before this one any more. */
  shorten(startBlock: number, watchId = transferWatch.watchId): Promise<void> {
    return this.registrations.shorten(watchId, startBlock);
  }

  /** Pauses a watch, or removes the only claim on it. */
  stopWatch(watchId = transferWatch.watchId, how: 'pause' | 'remove' = 'pause'): Promise<void> {
    return this.registrations.stop(watchId, how);
  }

  /** Wants blocks of a watch to be read again. */
  replay(fromBlock: number, toBlock: number, watchId = transferWatch.watchId): Promise<void> {
    return this.registrations.replay(watchId, fromBlock, toBlock);
  }

  /** Returns when the follower has paused a watch, because its backfill met a bound. */
  async pausedByItself(watchId: string): Promise<void> {
    const isPaused = () => this.registrations.findPause(watchId);
    await eventually(isPaused, CAUGHT_UP_WITHIN_MS, 'the backfill must meet its bound');
  }

  /** Resumes a watch that was paused, or registers one again that was removed. */
  readAgain(watchId = transferWatch.watchId, isUnbounded = false): Promise<void> {
    return this.registrations.readAgain(watchId, isUnbounded);
  }

  /** The observations and reversals of a contract. */
  async changes(of = contract): Promise<(StoredEvent & ChainEvent)[]> {
    return changesIn(await this.store.read(`chain-${String(CHAIN_ID)}-${of}`));
  }

  /**
   * The records of a contract that are observed and not reverted, after all changes in order. Fails if a change repeats
   * another.
   */
  async observed(of = contract): Promise<string[]> {
    const observed = new Set<string>();
    for (const { type, data } of await this.changes(of)) {
      const name = `${data.WatchId} ${String(data.BlockNumber)} ${data.Id}`;
      const isNew = observed.has(name) === (type === 'ChainEventReverted');
      if (!isNew) throw new Error(`${type} of ${name} is stored twice`);
      if (type === 'ChainEventObserved') observed.add(name);
      else observed.delete(name);
    }
    return [...observed];
  }

  /** The records that the registered watches of a contract have on the canonical chain, in its order for each watch. */
  recordsOnChain(of = contract): string[] {
    const watches = Array.from(this.registered.values()).filter(
      ({ contractAddress }) => contractAddress.toLowerCase() === of,
    );
    return watches.flatMap(({ watchId, topic0, startBlock }) =>
      this.chain.logs
        .filter(({ address, topics, data, blockNumber }) => {
          const isEvent = topic0 === null ? topics.length === 3 && data.length === 66 : topic0 === topics[0];
          return address === of && isEvent && startBlock <= blockNumber;
        })
        .map(({ blockNumber, blockHash, txHash, logIndex }) => {
          const id = [CHAIN_ID, blockHash, txHash, logIndex].join(':');
          return `${watchId} ${String(blockNumber)} ${id}`;
        }),
    );
  }

  async progress(): Promise<ChainProgressEvent['data'] | undefined> {
    const [stored] = await this.store.read(`chain-${String(CHAIN_ID)}`);
    return stored?.type === 'ChainAdvanced' ? (stored as StoredEvent & ChainProgressEvent).data : undefined;
  }

  /** The watches that have a range at whose end they join. */
  async joining(): Promise<string[]> {
    const progress = await this.progress();
    const deferred = await this.deferred();
    return [
      ...(progress?.backfills.flatMap(({ watchIds, joins }) => (joins ? watchIds : [])) ?? []),
      ...Array.from(deferred).flatMap(([id, ranges]) => (ranges.some(({ joins }) => joins) ? [id] : [])),
    ];
  }

  /** The ranges that are deferred, by watch. */
  async deferred(): Promise<Map<string, AsideEvent['data']['ranges']>> {
    const stored = (await this.store.read(`chain-${String(CHAIN_ID)}-aside`)).filter(
      (event): event is StoredEvent & AsideEvent => event.type === 'RangesSetAside',
    );
    const newest = new Map(stored.map(({ data }) => [data.watchId, data.ranges]));
    return new Map(Array.from(newest).filter(([, ranges]) => ranges.length > 0));
  }

  async verification(): Promise<ChainVerificationEvent['data'] | undefined> {
    const [stored] = await this.store.read(`chain-${String(CHAIN_ID)}-verified`);
    return stored && (stored as StoredEvent & ChainVerificationEvent).data;
  }

  /** Whether every final block is verified for every watch that is not stopped. */
  async isVerified(): Promise<boolean> {
    const [progress, verification] = [await this.progress(), await this.verification()];
    if (!progress || !verification || verification.watchesUpTo < this.registrations.upTo) return false;
    const isBehind = ({ watchIds, next }: { watchIds: readonly string[]; next: number }) =>
      next <= verification.verified && watchIds.some((id) => !this.registered.get(id)?.stopped);
    const { replays = [], behind, verified } = verification;
    const isRead = ({ watchId, next }: { watchId: string; next: number }) =>
      next > progress.finalized || this.registered.get(watchId)?.stopped !== undefined;
    return verified >= progress.finalized && !behind.some(isBehind) && replays.every(isRead);
  }

  async verified(): Promise<void> {
    await this.caughtUp();
    await eventually(() => this.isVerified(), CAUGHT_UP_WITHIN_MS, 'every final block must be verified');
  }

  /** Whether the stored progress has the head and every registration, and only stopped watches have ranges, but for gaps. */
  async isCaughtUp(): Promise<boolean> {
    const progress = await this.progress();
    const isKnown = progress !== undefined && progress.watchesUpTo >= this.registrations.upTo;
    if (!isKnown || progress.window.at(-1)?.hash !== this.chain.tip.hash) return false;
    const others = Array.from(await this.deferred(), ([id, all]) => all.map((range) => ({ watchIds: [id], ...range })));
    const isStopped = (id: string) => this.registered.get(id)?.stopped !== undefined;
    const isUnwanted = (id: string, to: number) => to < (this.registered.get(id)?.startBlock ?? 0);
    return [...progress.backfills, ...others.flat()].every(
      ({ watchIds, gap, to, joins }) => gap ?? watchIds.every((id) => isStopped(id) || (!joins && isUnwanted(id, to))),
    );
  }

  /** Whether it has nothing to do: verified as well, if it verifies. */
  private async isDone(): Promise<boolean> {
    return (await this.isCaughtUp()) && (this.verifiedEveryMs > CAUGHT_UP_WITHIN_MS || (await this.isVerified()));
  }

  async caughtUp(): Promise<void> {
    await eventually(() => this.isCaughtUp(), CAUGHT_UP_WITHIN_MS, 'the follower must catch up with the head');
  }

  async expectChain({ isOrdered = true } = {}): Promise<void> {
    await this.caughtUp();
    let difference: string | undefined;
    const both = [contract, otherContract];
    const isSame = async () => (difference = await differenceFrom(this, both, isOrdered)) === undefined;
    await eventually(isSame, CAUGHT_UP_WITHIN_MS, 'what is stored must be what the chain has').catch(
      (error: unknown) => {
        throw new Error(difference, { cause: error });
      },
    );
  }

  /**
   * Runs until an append fails after so many others, as for a process that dies, or until the follower has caught up.
   */
  async runUntilKilled(appends: number, isLost = false, reader: ChainReader = this.chain): Promise<void> {
    const { store, killed } = dyingAfter(this.store, appends, isLost);
    this.start({ store, reader });
    await eventually(
      async () => killed() || (await this.isDone()),
      CAUGHT_UP_WITHIN_MS,
      'the follower must get to its end',
    );
    await this.stop();
    this.nothingInFlightBefore &&= !killed();
  }
}
