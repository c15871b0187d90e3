import type { CatcherAnnouncement, ChainStatus } from '../../../../schemas/announcements.ts';
import {
  AnnouncedStatuses,
  catcherThatAnswersFor,
  notServed,
} from '../../../../shared/coordination/announced-statuses.ts';
import type { Member } from '../../../../shared/coordination/members.ts';
import { NOT_FOLLOWED, type FollowedStatus, type FollowerStatus } from '../../edge/ports.ts';
import type { ChainLoops } from './chain-loops.ts';
import type { ChainShares } from './chain-shares.ts';

interface ChainStatusesOptions {
  shares: Pick<ChainShares, 'id' | 'announcement'>;
  here: Pick<ChainLoops, 'statuses' | 'statusOf'>;
  catchers: { known: () => Member<CatcherAnnouncement>[] };
}

/**
 * Tells the backfill rates, errors and warnings of all watches. For chains that other event catchers follow, uses what
 * those catchers announce.
 */
export class ChainStatuses implements FollowerStatus {
  private readonly announced = new AnnouncedStatuses();

  constructor(private readonly options: ChainStatusesOptions) {}

  /**
   * What this event catcher tells other catchers: its chains, and the status of those it follows or failed to follow.
   */
  get announcement(): CatcherAnnouncement {
    const { shares, here } = this.options;
    const { announcement } = shares;
    const told = new Set([...announcement.followed, ...announcement.failing]);
    return { ...announcement, statuses: here.statuses().filter(({ chainId }) => told.has(chainId)) };
  }

  statusOf(watch: { id: string; chainId: number }): FollowedStatus {
    const elsewhere = this.elsewhere(watch.chainId);
    if (elsewhere) {
      const { error, warning, eventsPerSecond, blocksPerSecond } =
        this.announced.backfillOf(elsewhere, watch.id) ?? NOT_FOLLOWED;
      return {
        eventsPerSecond,
        blocksPerSecond,
        error: error ?? elsewhere.error,
        warning: warning ?? elsewhere.warning,
      };
    }
    const here = this.options.here.statusOf(watch);
    return { ...here, error: notServed(this.catchers(), watch.chainId) ?? here.error };
  }

  /**
   * Returns the status of a chain as another event catcher announced it: the catcher that follows the chain, or else
   * one that failed to. `undefined` if that is this catcher, or if there is none.
   */
  private elsewhere(wanted: number): ChainStatus | undefined {
    const answers = catcherThatAnswersFor(this.catchers(), wanted);
    if (!answers || answers.id === this.options.shares.id) return undefined;
    return answers.document.statuses.find(({ chainId }) => chainId === wanted);
  }

  /** Returns all event catchers. This one comes first, with its present state instead of its last announcement. */
  private catchers(): Member<CatcherAnnouncement>[] {
    const { shares, catchers } = this.options;
    const { id } = shares;
    const own = { id, document: { ...shares.announcement, statuses: [] }, isAlive: true, isSilent: false };
    return [own, ...catchers.known().filter((other) => other.id !== id)];
  }
}
