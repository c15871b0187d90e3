import type { AsideEvent } from '../../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../../shared/event-store/event-store.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

type Aside = ChainProgress['aside'];
type AsideRanges = AsideEvent['data']['ranges'];

const READ_EVENTS = 1_000;

/**
 * The stream of the ranges of a chain that are set aside. The newest event of a watch counts, but for those that are newer than
 * the newest `ChainAdvanced`, which does not contain what they say: they are taken back.
 */
export class AsideStream {
  private constructor(
    private readonly appends: ChainAppends,
    private readonly chainId: number,
    private newest: Appended,
  ) {}

  /** @param position of the newest progress */
  static async load(
    { eventStore, appends }: RecordDependencies,
    chainId: number,
    position: Position,
  ): Promise<{ stream: AsideStream; aside: Aside }> {
    const { newest, atPosition, now } = await appends.readFenced(
      streamOf(chainId),
      () => readAll(eventStore, streamOf(chainId), position),
      () => ({ type: 'FollowerReplaced', data: { chainId } }),
    );
    const stream = new AsideStream(appends, chainId, newest);
    const later = Array.from(now.keys()).filter((id) => !isSame(now.get(id), atPosition.get(id)));
    await stream.store(later.map((watchId) => [watchId, atPosition.get(watchId) ?? []]));
    const entries = Array.from(atPosition).filter(([, ranges]) => ranges.length > 0);
    return {
      stream,
      aside: new Map(entries.map(([watchId, ranges]) => [watchId, ranges.map((range) => ({ watchId, ...range }))])),
    };
  }

  /** Stores what has changed. */
  async append(before: Aside, after: Aside): Promise<void> {
    const changed = new Set([...before.keys(), ...after.keys()]);
    for (const id of changed) if (before.get(id) === after.get(id)) changed.delete(id);
    await this.store(
      Array.from(changed, (watchId) => [watchId, (after.get(watchId) ?? []).map(({ watchId: _, ...range }) => range)]),
    );
  }

  private async store(changed: readonly (readonly [watchId: string, ranges: AsideRanges])[]): Promise<void> {
    const { chainId } = this;
    const events = changed.map(([watchId, ranges]) => ({
      type: 'RangesSetAside' as const,
      data: { chainId, watchId, ranges },
    }));
    this.newest = await this.appends.append(streamOf(chainId), this.newest, events);
  }
}

const streamOf = (chainId: number): string => `chain-${String(chainId)}-aside`;

const isSame = (left: AsideRanges = [], right: AsideRanges = []): boolean =>
  JSON.stringify(left) === JSON.stringify(right);

/** Reads what is set aside, by watch: at a position, and by now. */
const readAll = async (eventStore: EventStore, stream: string, position: Position) => {
  const atPosition = new Map<string, AsideRanges>();
  const now = new Map<string, AsideRanges>();
  let newest: Appended = { revision: NO_STREAM, position: 0 };
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
