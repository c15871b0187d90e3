import type { BackfillStatus, CatcherAnnouncement, ChainStatus } from '../../schemas/announcements.ts';
import type { Member } from './members.ts';

type Announced<Document> = Pick<Member<Document>, 'isAlive' | 'isSilent'> & { document: Document };
type Chains = Pick<CatcherAnnouncement, 'chainIds' | 'followed' | 'failing'>;

/**
 * Returns the event catcher that answers for a chain: the catcher that follows it, or else the first one that failed
 * to.
 */
export const catcherThatAnswersFor = <Catcher extends Announced<Chains>>(
  catchers: readonly Catcher[],
  chainId: number,
): Catcher | undefined => {
  const alive = catchers.filter(({ isAlive }) => isAlive);
  const isIn = (chains: 'followed' | 'failing') => alive.find(({ document }) => document[chains].includes(chainId));
  return isIn('followed') ?? isIn('failing');
};

/**
 * Why no watch of this chain is read; `undefined` if a catcher configured for the chain is running, as far as is known.
 */
export const notServed = (catchers: readonly Announced<Chains>[], chainId: number): string | undefined =>
  catchers.some(({ isSilent, document }) => !isSilent && document.chainIds.includes(chainId))
    ? undefined
    : `no event catcher follows chain ${String(chainId)}: start one whose CHAINS names it`;

/** Reads the statuses of chains and watches that event catchers announce. */
export class AnnouncedStatuses {
  private readonly byWatch = new WeakMap<ChainStatus, ReadonlyMap<string, BackfillStatus>>();

  /** Why a watch, or its chain, cannot be read; `null` if it can. */
  errorOf(catchers: readonly Announced<CatcherAnnouncement>[], { id, chainId }: { id: string; chainId: number }) {
    const answers = catcherThatAnswersFor(catchers, chainId);
    const status = answers?.document.statuses.find((one) => one.chainId === chainId);
    if (status) return this.backfillOf(status, id)?.error ?? status.error;
    return notServed(catchers, chainId) ?? null;
  }

  backfillOf(status: ChainStatus, watchId: string): BackfillStatus | undefined {
    const known = this.byWatch.get(status) ?? byWatchId(status);
    this.byWatch.set(status, known);
    return known.get(watchId);
  }
}

const byWatchId = ({ backfills }: ChainStatus): ReadonlyMap<string, BackfillStatus> =>
  new Map(backfills.flatMap((backfill) => backfill.watchIds.map((id) => [id, backfill] as const)));
