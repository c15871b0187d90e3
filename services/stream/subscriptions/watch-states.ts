import type { CatcherAnnouncement } from '../../../schemas/announcements.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { ReadState } from '../../../schemas/socket/stream-commands.ts';
import { AnnouncedStatuses } from '../../../shared/cluster/announced-statuses.ts';
import type { Member } from '../../../shared/cluster/members.ts';
import type { Projections } from '../../../shared/edge/projections.ts';
import type { Logger } from 'pino';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { pauseText, watchesModel } from '../../../shared/read-models/watches.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { OnePerTick } from './one-per-tick.ts';

const POLL_INTERVAL_MS = 1_000;
/** Reading so many watches takes about a millisecond, in which nobody else is served. */
const WATCHES_PER_QUERY = 64;
const { watch: watchCollection } = watchesModel.collections;
const watchSchema = watchCollection.document.pick({ id: true, chainId: true, isRemoved: true, paused: true });
type Watch = ReturnType<typeof watchSchema.parse>;

/** Whether the events of a watch are read at present, and why not. */
export interface WatchState {
  state: ReadState;
  lastError: string | null;
}

/** A subscription, as it learns what becomes of its watch. */
export interface StateListener {
  changed: (state: WatchState) => void;
  /** Called once, when the last who held the watch has dropped it. */
  removed: () => void;
}

interface WatchStatesOptions {
  readStore: Pick<ReadStore, 'getMany'>;
  projections: Pick<Projections, 'find'>;
  /** The event catchers: each announces what it cannot read. */
  catchers: { known: () => Member<CatcherAnnouncement>[] };
  pieces: OnePerTick;
  logger: Logger;
}

/** Tells subscriptions when their watches are paused, cannot be read, are read again, or are removed. */
export class WatchStates {
  readonly loop: SupervisedLoop;
  private readonly announced = new AnnouncedStatuses();
  /** By watch: the listeners, each with the state that it was told last. */
  private readonly listeners = new Map<string, Map<StateListener, ReadState>>();

  constructor(private readonly options: WatchStatesOptions) {
    this.loop = new SupervisedLoop('states of watches', options.logger, async (signal, reportRunning) => {
      while (!signal.aborted) {
        await this.tellChanges();
        reportRunning();
        await pause(POLL_INTERVAL_MS, signal);
      }
    });
  }

  stateOf(watch: Pick<Watch, 'id' | 'chainId' | 'paused'>): WatchState {
    if (watch.paused !== null) return { state: 'paused', lastError: pauseText(watch.paused) };
    const lastError = this.announced.errorOf(this.options.catchers.known(), watch);
    return { state: lastError === null ? 'live' : 'failed', lastError };
  }

  /**
   * @param told the state that the listener knows
   * @param signal ends it
   */
  listen(watchId: string, listener: StateListener, { told, signal }: { told: ReadState; signal: AbortSignal }): void {
    const ofWatch = this.listeners.get(watchId) ?? new Map<StateListener, ReadState>();
    this.listeners.set(watchId, ofWatch.set(listener, told));
    const leave = () => {
      ofWatch.delete(listener);
      if (ofWatch.size === 0 && this.listeners.get(watchId) === ofWatch) this.listeners.delete(watchId);
    };
    signal.addEventListener('abort', leave, { once: true });
  }

  /** Reads all watches that have subscriptions once. The loop calls it every second. */
  async tellChanges(): Promise<void> {
    const watchIds = [...this.listeners.keys()];
    for (let from = 0; from < watchIds.length; from += WATCHES_PER_QUERY) {
      await this.options.pieces.next();
      const stored = await this.options.readStore.getMany(
        watchCollection.name,
        watchIds.slice(from, from + WATCHES_PER_QUERY),
      );
      for (const { document } of stored.values()) await this.tell(document);
    }
  }

  private async tell(document: JsonObject): Promise<void> {
    const watch = watchSchema.parse(document);
    if (watch.isRemoved) {
      await this.tellRemoved(watch.id);
      return;
    }
    const now = this.stateOf(watch);
    const ofWatch = this.listeners.get(watch.id) ?? new Map<StateListener, ReadState>();
    for (const [listener, told] of ofWatch) {
      if (told === now.state) continue;
      ofWatch.set(listener, now.state);
      listener.changed(now);
    }
  }

  /** A read model that is being filled may not have yet that a watch was registered again after it was removed. */
  private async tellRemoved(watchId: string): Promise<void> {
    const registeredAgain = await this.options.projections.find(watchesModel.name, async () => {
      const [stored] = (await this.options.readStore.getMany(watchCollection.name, [watchId])).values();
      return stored && !watchSchema.parse(stored.document).isRemoved ? stored : undefined;
    });
    if (registeredAgain) return;
    for (const listener of [...(this.listeners.get(watchId)?.keys() ?? [])]) listener.removed();
  }
}
