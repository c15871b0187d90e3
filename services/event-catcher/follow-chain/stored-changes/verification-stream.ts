import type { ChainVerificationEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Appended, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { initialVerification, type Replay, type Verification } from '../../domain/verification.ts';
import { NO_EVENT, type ChainAppends } from './chain-appends.ts';
import type { RecordDependencies } from './contract-records.ts';

/**
 * The stream that says how far a chain is verified, that is read a second time. Only the newest event counts. The
 * stream needs no fence against late appends of earlier followers: what they verified stays verified. A late append is
 * refused, or makes the next append of this follower fail; then the chain is followed again from the stored state.
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
    const [newest] = await eventStore.read(stream, { direction: 'backwards', limit: 1 });
    const verification = newest ? fromEvent(newest as StoredEvent & ChainVerificationEvent) : initialVerification;
    return new VerificationStream(appends, chainId, newest ?? NO_EVENT, verification);
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

/** The most entries of skipped blocks, which could not be verified, that are stored as they are: about 400 KB. */
const PARTS_MAX = 4_000;

/**
 * Returns the skipped blocks as entries to store. If there are too many, returns one entry for each watch, which spans
 * all its skipped blocks. After a restart, blocks between two skipped ones are compared once more.
 */
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

/** Returns one entry for all watches that skipped the same blocks: thousands may have the same unreadable blocks. */
const together = (skipped: Verification['skipped']): Required<ChainVerificationEvent['data']>['skipped'] =>
  Array.from(Map.groupBy(skipped, ({ next, to }) => [next, to].join()).values(), (group) => {
    const [{ next, to }] = group as [Replay, ...Replay[]];
    return { watchIds: group.map(({ watchId }) => watchId), next, to };
  });
