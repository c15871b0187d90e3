import { CATCHERS_KIND, catcherAnnouncement } from '../../schemas/announcements.ts';
import type { WatchedContract, WatchStatus } from '../../schemas/http/watched-contract.ts';
import { Members } from '../../shared/cluster/members.ts';
import { Projections } from '../../shared/edge/projections.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { THIS_PROCESS } from '../../shared/loops/lease-holder.ts';
import { pause } from '../../shared/primitives/pause.ts';
import type { ChainDocument } from '../../shared/read-models/chains.ts';
import { watchesModel } from '../../shared/read-models/watches.ts';
import { isWatchId } from './domain/watch.ts';
import { progressOf } from './domain/watch-progress.ts';
import { watchAnswer } from './edge/watch-answer.ts';
import { WatchModels } from './edge/watch-models.ts';
import { ChainStatuses } from './follow-chain/chain-statuses.ts';
import { WatchStatuses } from './edge/watch-statuses.ts';

const { watch: watches } = watchesModel.collections;
const WATCHES_AT_ONCE = 1_000;
/** Less than the second in which each event catcher renews what it announces. */
const LOOK_EVERY_MS = 300;

/** A watch, and how far it was read. */
export type ReportedWatch = Pick<
  WatchedContract,
  'id' | 'chainId' | 'contractAddress' | 'eventName' | 'eventSignature' | 'state' | 'startBlock'
> &
  Pick<WatchStatus, 'currentBlockNumber' | 'headBlock' | 'gaps'>;

/** This process follows no chain. */
const here = {
  statuses: () => [],
  ratesOf: () => ({ eventsPerSecond: 0, blocksPerSecond: 0 }),
  errorOf: () => null,
  warningOf: () => null,
};
const shares = { id: THIS_PROCESS, announcement: { chainIds: [], failing: [], followed: [] } };

/** Tells an operator of watches what the routes answer, beside the event catchers, from the read store. */
export class WatchReports {
  private readonly models: WatchModels;
  private readonly statuses: WatchStatuses;
  private readonly follower: ChainStatuses;
  private readonly catchers: Members<typeof catcherAnnouncement>;

  constructor(private readonly foundation: Pick<Foundation, 'eventStore' | 'readStore' | 'clock' | 'logger'>) {
    const { readStore, eventStore, clock } = foundation;
    this.models = new WatchModels(readStore, new Projections(readStore, eventStore));
    this.catchers = new Members({ ...foundation, kind: CATCHERS_KIND, schema: catcherAnnouncement });
    this.follower = new ChainStatuses({ shares, here, catchers: this.catchers });
    this.statuses = new WatchStatuses(readStore, this.models, this.follower, clock);
  }

  /** Returns all that some app holds, by id. @throws Refusal dependency_unavailable */
  async list(signal?: AbortSignal): Promise<ReportedWatch[]> {
    await this.meetCatchers(signal);
    const chains = new Map<number, ChainDocument | undefined>();
    const reported: ReportedWatch[] = [];
    for (let skip = 0; ; skip += WATCHES_AT_ONCE) {
      const found = await this.foundation.readStore.find(watches.name, {
        filter: { isRemoved: false },
        sort: [['id', 'asc']],
        skip,
        limit: WATCHES_AT_ONCE,
      });
      for (const { document } of found) {
        const watch = watches.document.parse(document);
        if (!chains.has(watch.chainId)) chains.set(watch.chainId, await this.models.chain(watch.chainId));
        const chain = await this.models.withAsideOf(chains.get(watch.chainId), [watch.id]);
        const { id, chainId, contractAddress, eventName, eventSignature, startBlock } = watch;
        const { currentBlockNumber, gaps } = progressOf(watch, chain);
        reported.push({
          ...{ id, chainId, contractAddress, eventName, eventSignature },
          state: watchAnswer(watch, chain, this.follower).state,
          startBlock,
          currentBlockNumber,
          headBlock: chain?.head ?? null,
          gaps,
        });
      }
      if (found.length < WATCHES_AT_ONCE) return reported;
    }
  }

  /** @throws CannotStart, Refusal watch_not_found, not_caught_up, dependency_unavailable */
  async statusOf(watchId: string, signal?: AbortSignal): Promise<WatchStatus> {
    if (!isWatchId(watchId)) throw new CannotStart(`${watchId} is not the id of a registration`);
    const watch = await this.models.byId(watchId);
    await this.meetCatchers(signal);
    return this.statuses.statusOf(watch);
  }

  /** Returns when it is known of each event catcher whether it lives: after some seconds of silence it does not. */
  private async meetCatchers(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      await this.catchers.look();
      if (signal?.aborted === true || this.catchers.known().every(({ isAlive, isSilent }) => isAlive || isSilent))
        return;
      await pause(LOOK_EVERY_MS, signal);
    }
  }
}
