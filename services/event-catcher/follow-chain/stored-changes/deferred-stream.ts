import type { AsideEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Appended, EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import { NO_EVENT, type ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

type Deferred = ChainProgress['deferred'];
type DeferredRanges = AsideEvent['data']['ranges'];

const READ_EVENTS = 1_000;

/**
 * The stream of a chain's deferred ranges: unread blocks that wait outside the checkpoint, `ChainAdvanced`. The newest
 * event of each watch counts. Loading the stream undoes events after the newest checkpoint, because the checkpoint does
 * not know of them.
 */
export class DeferredStream {
  private constructor(
    private readonly appends: ChainAppends,
    private readonly chainId: number,
    private newest: Appended,
  ) {}

  /** Loads the ranges that were deferred at `position`, that of the newest checkpoint, and undoes later events. */
  static async load(
    { eventStore, appends }: RecordDependencies,
    chainId: number,
    position: Position,
  ): Promise<{ stream: DeferredStream; deferred: Deferred }> {
    const { newest, atPosition, now } = await appends.readFenced(
      streamOf(chainId),
      () => readAll(eventStore, streamOf(chainId), position),
      () => ({ type: 'FollowerReplaced', data: { chainId } }),
    );
    const stream = new DeferredStream(appends, chainId, newest);
    const later = Array.from(now.keys()).filter((id) => !isSame(now.get(id), atPosition.get(id)));
    await stream.store(later.map((watchId) => [watchId, atPosition.get(watchId) ?? []]));
    const entries = Array.from(atPosition).filter(([, ranges]) => ranges.length > 0);
    return {
      stream,
      deferred: new Map(entries.map(([watchId, ranges]) => [watchId, ranges.map((range) => ({ watchId, ...range }))])),
    };
  }

  /** Stores the deferred ranges of each watch for which `before` and `after` differ. */
  async append(before: Deferred, after: Deferred): Promise<void> {
    const changed = new Set([...before.keys(), ...after.keys()]);
    for (const id of changed) if (before.get(id) === after.get(id)) changed.delete(id);
    await this.store(
      Array.from(changed, (watchId) => [watchId, (after.get(watchId) ?? []).map(({ watchId: _, ...range }) => range)]),
    );
  }

  private async store(changed: readonly (readonly [watchId: string, ranges: DeferredRanges])[]): Promise<void> {
    const { chainId } = this;
    const events = changed.map(([watchId, ranges]) => ({
      type: 'RangesSetAside' as const,
      data: { chainId, watchId, ranges },
    }));
    this.newest = await this.appends.append(streamOf(chainId), this.newest, events);
  }
}

const streamOf = (chainId: number): string => `chain-${String(chainId)}-aside`;

const isSame = (left: DeferredRanges = [], right: DeferredRanges = []): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

/** Reads each watch's deferred ranges: those as of `position`, and those as of now. */
const readAll = async (eventStore: EventStore, stream: string, position: Position) => {
  const atPosition = new Map<string, DeferredRanges>();
  const now = new Map<string, DeferredRanges>();
  let newest = NO_EVENT;
  for (;;) {
    const page = await eventStore.read(stream, { from: newest.revision + 1, limit: READ_EVENTS });
    for (const event of page) {
      if (event.type !== 'RangesSetAside') continue;
      const { watchId, ranges } = (event as StoredEvent & AsideEvent).data;
      for (const kept of event.position > position ? [now] : [atPosition, now]) {
        kept.delete(watchId);
        kept.set(watchId, ranges);
      }
    }
    newest = page.at(-1) ?? newest;
    if (page.length < READ_EVENTS) return { newest, atPosition, now };
  }
};
