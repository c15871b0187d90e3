import { backfillsOf, type BackfillRange, type ChainProgressEvent } from '../../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type Position,
  type StoredEvent,
} from '../../../../shared/event-store/event-store.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { Range } from '../../domain/coverage.ts';
import { tipOf } from '../../domain/window.ts';
import { AsideStream } from './aside-stream.ts';
import type { ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

/** The stream of a chain's progress, of which only the newest event counts, and the one of what is set aside. */
export class ProgressStream {
  private constructor(
    private readonly appends: ChainAppends,
    private readonly chainId: number,
    private newest: Appended,
    /** The progress at the time of loading; `undefined` if nothing was read yet. */
    readonly stored: ChainProgress | undefined,
    private readonly aside: AsideStream,
  ) {}

  static async load({ eventStore, appends }: RecordDependencies, chainId: number): Promise<ProgressStream> {
    const stream = streamOf(chainId);
    await eventStore.keepNewest(stream, 1);
    const { newest, progress } = await appends.readFenced(
      stream,
      () => readNewest(eventStore, stream),
      (read) =>
        read.progress
          ? { type: 'ChainAdvanced', data: { ...toEvent(chainId, read.progress), repeats: read.progress.position } }
          : { type: 'FollowerReplaced', data: { chainId } },
    );
    const { stream: asideStream, aside } = await AsideStream.load(
      { eventStore, appends },
      chainId,
      progress?.position ?? 0,
    );
    return new ProgressStream(appends, chainId, newest, progress && { ...progress, aside }, asideStream);
  }

  /** Stores what is set aside by now, and was not before. */
  appendAside(before: ChainProgress['aside'], after: ChainProgress['aside']): Promise<void> {
    return this.aside.append(before, after);
  }

  /** @returns the position of the event */
  async append(progress: ChainProgress): Promise<Position> {
    const event = { type: 'ChainAdvanced' as const, data: toEvent(this.chainId, progress) };
    this.newest = await this.appends.append(streamOf(this.chainId), this.newest, [event]);
    return this.newest.position;
  }
}

const streamOf = (chainId: number): string => `chain-${String(chainId)}`;

const readNewest = async (
  eventStore: EventStore,
  stream: string,
): Promise<{ newest: Appended; progress: ChainProgress | undefined }> => {
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  if (!newest) return { newest: { revision: NO_STREAM, position: 0 }, progress: undefined };
  const progress = newest.type === 'ChainAdvanced' ? fromEvent(newest as StoredEvent & ChainProgressEvent) : undefined;
  return { newest, progress };
};

const fromEvent = ({ data, schemaVersion, position }: StoredEvent & ChainProgressEvent): ChainProgress | undefined => {
  const { window, anchors = [], backfills, watchesUpTo, repeats } = data;
  // Version 1 has no `since`. With 0, a reorganisation searches everything that a contract has.
  const [first, ...rest] = schemaVersion === 1 ? window.map((block) => ({ ...block, since: 0 })) : window;
  const ranges = backfillsOf(backfills).flatMap(({ watchIds, ...blocks }) =>
    watchIds.map((watchId) => ({ watchId, ...blocks })),
  );
  return (
    first && {
      window: [first, ...rest],
      anchors,
      backfills: ranges,
      aside: new Map(),
      watchesUpTo,
      position: repeats ?? position,
    }
  );
};

const toEvent = (
  chainId: number,
  { window, anchors, backfills, watchesUpTo }: ChainProgress,
): ChainProgressEvent['data'] => ({
  chainId,
  head: tipOf(window).number,
  finalized: window[0].number,
  window: [...window],
  ...(anchors.length > 0 && { anchors: [...anchors] }),
  backfills: together(backfills),
  watchesUpTo,
});

/** After an outage thousands of watches have the same blocks to read. */
const together = (ranges: readonly Range[]): BackfillRange[] => {
  const groups = Map.groupBy(ranges, ({ from, next, to, joins, gap }) =>
    [from, next, to, joins, gap?.since, gap?.reason].join(),
  );
  return Array.from(groups.values(), (group) => {
    const [{ watchId: _, ...blocks }] = group as [Range, ...Range[]];
    return { watchIds: group.map(({ watchId }) => watchId), ...blocks };
  });
};
