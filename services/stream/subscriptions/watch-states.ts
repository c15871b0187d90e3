import { inPieces } from '../../../shared/primitives/in-pieces.ts';
import type { CatcherAnnouncement } from '../../../schemas/announcements.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { ReadState } from '../../../schemas/socket/stream-commands.ts';
import { AnnouncedStatuses } from '../../../shared/coordination/announced-statuses.ts';
import type { Member } from '../../../shared/coordination/members.ts';
import type { Projections } from '../../../shared/edge/answers/projections.ts';
import type { Logger } from 'pino';
import { pollLoop } from '../../../shared/loops/poll-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { pauseText, watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { OnePerTick } from './one-per-tick.ts';

const POLL_INTERVAL_MS = 1_000;
/** Watches per query. Reading them blocks other work for about a millisecond. */
const WATCHES_PER_QUERY = 64;
const { watch: watchCollection } = watchesModel.collections;
const watchSchema = watchCollection.document.pick({ id: true, chainId: true, isRemoved: true, paused: true });
type Watch = ReturnType<typeof watchSchema.parse>;

/** Whether the events of a watch are being read, and if not, why. */
export interface WatchState {
  state: ReadState;
  lastError: string | null;
}

/** Tells a subscription about changes of its watch. */
export interface StateListener {
  changed: (state: WatchState) => void;
  /** Called once, when the last claim on the watch was dropped. */
  removed: () => void;
}

interface WatchStatesOptions {
  readStore: Pick<ReadStore, 'getMany'>;
  projections: Pick<Projections, 'find'>;
  /** The event catchers, each of which announces what it cannot read. */
  catchers: { known: () => Member<CatcherAnnouncement>[] };
  /** Called before a subscription is told that the state of its watch changed. */
  onChange: () => void;
  pieces: OnePerTick;
  logger: Logger;
}

/** Tells subscriptions when their watches are paused, cannot be read, are read again, or are removed. */
export class WatchStates {
  readonly loop: SupervisedLoop;
  private readonly announced = new AnnouncedStatuses();
  /** Listeners by watch, each with the state that it was last told. */
  private readonly listeners = new Map<string, Map<StateListener, ReadState>>();

  constructor(private readonly options: WatchStatesOptions) {
    this.loop = pollLoop('states of watches', options.logger, POLL_INTERVAL_MS, () => this.tellChanges());
  }

  stateOf(watch: Pick<Watch, 'id' | 'chainId' | 'paused'>): WatchState {
    if (watch.paused !== null) return { state: 'paused', lastError: pauseText(watch.paused) };
    const lastError = this.announced.errorOf(this.options.catchers.known(), watch);
    return { state: lastError === null ? 'live' : 'failed', lastError };
  }

  /**
   * @param told the state that the listener knows
   * @returns ends the listening
   */
  listen(watchId: string, listener: StateListener, told: ReadState): () => void {
    const ofWatch = this.listeners.get(watchId) ?? new Map<StateListener, ReadState>();
    this.listeners.set(watchId, ofWatch.set(listener, told));
    return () => {
      ofWatch.delete(listener);
      if (ofWatch.size === 0 && this.listeners.get(watchId) === ofWatch) this.listeners.delete(watchId);
    };
  }

  /** Reads all watches that have subscriptions once. The loop calls it every second. */
  async tellChanges(): Promise<void> {
    for (const watchIds of inPieces([...this.listeners.keys()], WATCHES_PER_QUERY)) {
      await this.options.pieces.next();
      const stored = await this.options.readStore.getMany(watchCollection.name, watchIds);
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
      this.options.onChange();
      ofWatch.set(listener, now.state);
      listener.changed(now);
    }
  }

  /** A read model that lags may not know yet that a removed watch was registered again. */
  private async tellRemoved(watchId: string): Promise<void> {
    const registeredAgain = await this.options.projections.find(watchesModel.name, async () => {
      const [stored] = (await this.options.readStore.getMany(watchCollection.name, [watchId])).values();
      return stored && !watchSchema.parse(stored.document).isRemoved ? stored : undefined;
    });
    if (registeredAgain) return;
    for (const listener of [...(this.listeners.get(watchId)?.keys() ?? [])]) listener.removed();
  }
}
