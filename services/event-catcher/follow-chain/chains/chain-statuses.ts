import type { CatcherAnnouncement, ChainStatus } from '../../../schemas/announcements.ts';
import { AnnouncedStatuses, catcherThatAnswersFor, notServed } from '../../../shared/cluster/announced-statuses.ts';
import type { Member } from '../../../shared/cluster/members.ts';
import type { FollowerStatus } from '../edge/ports.ts';
import type { ChainLoops } from './chain-loops.ts';
import type { ChainShares } from './chain-shares.ts';

interface ChainStatusesOptions {
  shares: Pick<ChainShares, 'id' | 'announcement'>;
  here: Pick<ChainLoops, 'statuses' | 'ratesOf' | 'errorOf' | 'warningOf'>;
  catchers: { known: () => Member<CatcherAnnouncement>[] };
}

type Asked = Parameters<FollowerStatus['errorOf']>[0];

/** Knows the rates and errors of all chains: of those that other event catchers follow from what these announce. */
export class ChainStatuses implements FollowerStatus {
  private readonly announced = new AnnouncedStatuses();

  constructor(private readonly options: ChainStatusesOptions) {}

  /** What this event catcher tells the others. */
  get announcement(): CatcherAnnouncement {
    const { shares, here } = this.options;
    const { announcement } = shares;
    const told = new Set([...announcement.followed, ...announcement.failing]);
    return { ...announcement, statuses: here.statuses().filter(({ chainId }) => told.has(chainId)) };
  }

  ratesOf(watch: Asked): { eventsPerSecond: number; blocksPerSecond: number } {
    const elsewhere = this.elsewhere(watch.chainId);
    if (!elsewhere) return this.options.here.ratesOf(watch);
    const { eventsPerSecond = 0, blocksPerSecond = 0 } = this.announced.backfillOf(elsewhere, watch.id) ?? {};
    return { eventsPerSecond, blocksPerSecond };
  }

  errorOf(watch: Asked): string | null {
    const elsewhere = this.elsewhere(watch.chainId);
    if (elsewhere) return this.announced.backfillOf(elsewhere, watch.id)?.error ?? elsewhere.error;
    return notServed(this.catchers(), watch.chainId) ?? this.options.here.errorOf(watch);
  }

  warningOf(watch: Asked): string | null {
    const elsewhere = this.elsewhere(watch.chainId);
    if (!elsewhere) return this.options.here.warningOf(watch);
    return this.announced.backfillOf(elsewhere, watch.id)?.warning ?? elsewhere.warning;
  }

  /** What the one says that follows the chain; while nobody does, one that could not; `undefined` if that is this one. */
  private elsewhere(wanted: number): ChainStatus | undefined {
    const answers = catcherThatAnswersFor(this.catchers(), wanted);
    if (!answers || answers.id === this.options.shares.id) return undefined;
    return answers.document.statuses.find(({ chainId }) => chainId === wanted);
  }

  /** All event catchers, this one first: of itself it knows more than it has announced. */
  private catchers(): Member<CatcherAnnouncement>[] {
    const { shares, catchers } = this.options;
    const { id } = shares;
    const own = { id, document: { ...shares.announcement, statuses: [] }, isAlive: true, isSilent: false };
    return [own, ...catchers.known().filter((other) => other.id !== id)];
  }
}
