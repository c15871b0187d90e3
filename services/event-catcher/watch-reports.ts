import { CATCHERS_KIND, catcherAnnouncement } from '../../schemas/announcements.ts';
import type { WatchedContract, WatchStatus } from '../../schemas/http/event-catcher/watched-contract.ts';
import { Members } from '../../shared/coordination/members.ts';
import { Projections } from '../../shared/edge/answers/projections.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { THIS_PROCESS } from '../../shared/loops/lease-holder.ts';
import { pause } from '../../shared/primitives/waiting/pause.ts';
import type { ChainDocument } from '../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../shared/read-models/event-catcher/watches.ts';
import { isWatchId } from './domain/watches/watch.ts';
import { progressOf } from './domain/watches/watch-progress.ts';
import { NOT_FOLLOWED } from './edge/ports.ts';
import { WatchModels } from './edge/watch-models.ts';
import { ChainStatuses } from './follow-chain/chains/chain-statuses.ts';
import { WatchStatuses } from './edge/watch-statuses.ts';

const { watch: watches } = watchesModel.collections;
const WATCHES_AT_ONCE = 1_000;
/** Less than the second after which each event catcher announces itself again. */
const LOOK_EVERY_MS = 300;

/** A watch, and how far it has been read. */
export type ReportedWatch = Pick<
  WatchedContract,
  'id' | 'chainId' | 'contractAddress' | 'eventName' | 'eventSignature' | 'state' | 'startBlock'
> &
  Pick<WatchStatus, 'currentBlockNumber' | 'headBlock' | 'gaps'>;

/** The status of a process that follows no chain. */
const here = { statuses: () => [], statusOf: () => NOT_FOLLOWED };
const shares = { id: THIS_PROCESS, announcement: { chainIds: [], failing: [], followed: [] } };

/** Tells an operator what the routes tell about watches, from the read store, without being an event catcher. */
export class WatchReports {
  private readonly models: WatchModels;
  private readonly statuses: WatchStatuses;
  private readonly catchers: Members<typeof catcherAnnouncement>;

  constructor(private readonly foundation: Pick<Foundation, 'eventStore' | 'readStore' | 'clock' | 'logger'>) {
    const { readStore, eventStore, clock } = foundation;
    this.models = new WatchModels(readStore, new Projections(readStore, eventStore));
    this.catchers = new Members({ ...foundation, kind: CATCHERS_KIND, schema: catcherAnnouncement });
    const follower = new ChainStatuses({ shares, here, catchers: this.catchers });
    this.statuses = new WatchStatuses(this.models, follower, clock);
  }

  /** Returns all watches that an app holds, by id. @throws Refusal dependency_unavailable */
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
        const chain = await this.models.withDeferredOf(chains.get(watch.chainId), [watch.id]);
        const { id, chainId, contractAddress, eventName, eventSignature, startBlock } = watch;
        const { currentBlockNumber, gaps } = progressOf(watch, chain);
        reported.push({
          ...{ id, chainId, contractAddress, eventName, eventSignature },
          state: this.statuses.answerOf(watch, chain).state,
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

  /** Returns once it is known of each event catcher whether it is alive. After some seconds of silence it is not. */
  private async meetCatchers(signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      await this.catchers.look();
      if (signal?.aborted === true || this.catchers.known().every(({ isAlive, isSilent }) => isAlive || isSilent))
        return;
      await pause(LOOK_EVERY_MS, signal);
    }
  }
}
