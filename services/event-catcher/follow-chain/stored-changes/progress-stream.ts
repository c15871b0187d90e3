import { type BackfillRange, type ChainProgressEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Appended, EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import type { Range } from '../../domain/backfill/coverage.ts';
import { tipOf } from '../../../../shared/chain/window.ts';
import { DeferredStream } from './deferred-stream.ts';
import { NO_EVENT, type ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

/**
 * The stream of a chain's progress (how far it has been read), in which only the newest event counts, and with it the
 * stream of the chain's deferred ranges, which wait to be read.
 */
export class ProgressStream {
  private constructor(
    private readonly appends: ChainAppends,
    private readonly chainId: number,
    private newest: Appended,
    /** The progress that was stored when this stream was loaded; `undefined` if there was none. */
    readonly stored: ChainProgress | undefined,
    readonly deferred: DeferredStream,
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
    const { stream: deferredStream, deferred } = await DeferredStream.load(
      { eventStore, appends },
      chainId,
      progress?.position ?? 0,
    );
    return new ProgressStream(appends, chainId, newest, progress && { ...progress, deferred }, deferredStream);
  }

  /** Stores the progress. @returns the position of the stored event */
  async append(progress: ChainProgress): Promise<Position> {
    const event = { type: 'ChainAdvanced' as const, data: toEvent(this.chainId, progress) };
    this.newest = await this.appends.append(streamOf(this.chainId), this.newest, [event]);
    return this.newest.position;
  }
}

const streamOf = (chainId: number): string => `chain-${String(chainId)}`;

const readNewest = async (eventStore: EventStore, stream: string) => {
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  const isProgress = newest?.type === 'ChainAdvanced';
  const progress = isProgress ? fromEvent(newest as StoredEvent & ChainProgressEvent) : undefined;
  return { newest: newest ?? NO_EVENT, progress };
};

const fromEvent = ({ data, position }: StoredEvent & ChainProgressEvent): ChainProgress | undefined => {
  const { window, anchors = [], backfills, watchesUpTo, repeats } = data;
  const [first, ...rest] = window;
  const ranges = backfills.flatMap(({ watchIds, ...blocks }) => watchIds.map((watchId) => ({ watchId, ...blocks })));
  return (
    first && {
      window: [first, ...rest],
      anchors,
      backfills: ranges,
      deferred: new Map(),
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
  backfills: groupByBlocks(backfills),
  watchesUpTo,
});

/** Returns one entry for all watches with the same blocks to read: after an outage they may be thousands. */
const groupByBlocks = (ranges: readonly Range[]): BackfillRange[] => {
  const groups = Map.groupBy(ranges, ({ from, next, to, joins, gap }) =>
    [from, next, to, joins, gap?.since, gap?.reason].join(),
  );
  return Array.from(groups.values(), (group) => {
    const [{ watchId: _, ...blocks }] = group as [Range, ...Range[]];
    return { watchIds: group.map(({ watchId }) => watchId), ...blocks };
  });
};
