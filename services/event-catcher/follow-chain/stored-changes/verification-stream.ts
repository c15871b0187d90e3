import type { ChainVerificationEvent } from '../../../../schemas/events/chain-events.ts';
import {
  NO_STREAM,
  type Appended,
  type EventStore,
  type StoredEvent,
} from '../../../../shared/event-store/event-store.ts';
import { initialVerification, type Replay, type Verification } from '../../domain/verification.ts';
import type { ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

/**
 * The stream of how far a chain is verified. Only its newest event counts. It is not fenced: what an earlier follower has verified
 * is, and its late append is refused, or makes the next one fail, so that the chain is followed from what is stored.
 */
export class VerificationStream {
  private constructor(
    private readonly appends: ChainAppends,
    private readonly chainId: number,
    private newest: Appended,
    private current: Verification,
  ) {}

  static async load({ eventStore, appends }: RecordDependencies, chainId: number): Promise<VerificationStream> {
    const stream = streamOf(chainId);
    await eventStore.keepNewest(stream, 1);
    const { newest, verification } = await readNewest(eventStore, stream);
    return new VerificationStream(appends, chainId, newest, verification);
  }

  get stored(): Verification {
    return this.current;
  }

  async append(verification: Verification): Promise<void> {
    this.newest = await this.appends.append(streamOf(this.chainId), this.newest, [toEvent(this.chainId, verification)]);
    this.current = verification;
  }
}

const streamOf = (chainId: number): string => `chain-${String(chainId)}-verified`;

const readNewest = async (
  eventStore: EventStore,
  stream: string,
): Promise<{ newest: Appended; verification: Verification }> => {
  const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
  if (!newest) return { newest: { revision: NO_STREAM, position: 0 }, verification: initialVerification };
  return { newest, verification: fromEvent(newest as StoredEvent & ChainVerificationEvent) };
};

const fromEvent = ({
  data: { verified, behind, replays = [], skipped = [], watchesUpTo },
}: StoredEvent & ChainVerificationEvent): Verification => ({
  verified,
  behind: behind.flatMap(({ watchIds, next }) => watchIds.map((watchId) => ({ watchId, next }))),
  replays,
  skipped: skipped.flatMap(({ watchIds, next, to }) => watchIds.map((watchId) => ({ watchId, next, to }))),
  watchesUpTo,
});

const toEvent = (
  chainId: number,
  { verified, behind, replays, skipped, watchesUpTo }: Verification,
): ChainVerificationEvent => ({
  type: 'ChainVerified',
  data: {
    chainId,
    verified,
    behind: Array.from(
      Map.groupBy(behind, ({ next }) => next),
      ([next, watches]) => ({ watchIds: watches.map(({ watchId }) => watchId), next }),
    ),
    ...(replays.length > 0 && { replays: [...replays] }),
    ...(skipped.length > 0 && { skipped: bounded(skipped) }),
    watchesUpTo,
  },
});

/** So many parts that were skipped have some 400 KB. */
const PARTS_MAX = 4_000;

/** Where there are too many parts, each watch has one, with all that is between: after a restart that is compared once more. */
const bounded = (skipped: Verification['skipped']): ReturnType<typeof together> => {
  const parts = together(skipped);
  if (parts.length <= PARTS_MAX) return parts;
  const byWatch = Map.groupBy(skipped, ({ watchId }) => watchId);
  return together(
    Array.from(byWatch, ([watchId, all]) => ({
      watchId,
      next: all.reduce((least, { next }) => Math.min(least, next), Infinity),
      to: all.reduce((most, { to }) => Math.max(most, to), 0),
    })),
  );
};

/** Thousands of watches may have the same blocks that cannot be read. */
const together = (skipped: Verification['skipped']): Required<ChainVerificationEvent['data']>['skipped'] =>
  Array.from(Map.groupBy(skipped, ({ next, to }) => [next, to].join()).values(), (group) => {
    const [{ next, to }] = group as [Replay, ...Replay[]];
    return { watchIds: group.map(({ watchId }) => watchId), next, to };
  });
