import type { BackfillStatus, CatcherAnnouncement, ChainStatus } from '../../../schemas/announcements.ts';
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

const notServed = (chainId: number): string =>
  `no event catcher follows chain ${String(chainId)}: start one whose CHAINS names it`;

/** Knows the rates and errors of all chains: of those that other event catchers follow from what these announce. */
export class ChainStatuses implements FollowerStatus {
  private readonly byWatch = new WeakMap<ChainStatus, ReadonlyMap<string, BackfillStatus>>();

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
    const { eventsPerSecond = 0, blocksPerSecond = 0 } = this.backfillsOf(elsewhere).get(watch.id) ?? {};
    return { eventsPerSecond, blocksPerSecond };
  }

  errorOf(watch: Asked): string | null {
    const elsewhere = this.elsewhere(watch.chainId);
    if (elsewhere) return this.backfillsOf(elsewhere).get(watch.id)?.error ?? elsewhere.error;
    return this.isServed(watch.chainId) ? this.options.here.errorOf(watch) : notServed(watch.chainId);
  }

  /** Whether an event catcher that runs, as far as is known, is to follow the chain. It may have been configured once. */
  private isServed(wanted: number): boolean {
    const { shares, catchers } = this.options;
    const others = catchers.known().filter(({ isSilent, id }) => !isSilent && id !== shares.id);
    return [shares.announcement, ...others.map(({ document }) => document)].some(({ chainIds }) =>
      chainIds.includes(wanted),
    );
  }

  warningOf(watch: Asked): string | null {
    const elsewhere = this.elsewhere(watch.chainId);
    if (!elsewhere) return this.options.here.warningOf(watch);
    return this.backfillsOf(elsewhere).get(watch.id)?.warning ?? elsewhere.warning;
  }

  /** What the one says that follows the chain; while nobody does, one that could not; `undefined` if that is this one. */
  private elsewhere(wanted: number): ChainStatus | undefined {
    const { shares, catchers } = this.options;
    const own = shares.announcement;
    if (own.followed.includes(wanted)) return undefined;
    const others = catchers.known().filter(({ id, isAlive }) => isAlive && id !== shares.id);
    const follower = others.find(({ document }) => document.followed.includes(wanted));
    if (!follower && own.failing.includes(wanted)) return undefined;
    const teller = follower ?? others.find(({ document }) => document.failing.includes(wanted));
    return teller?.document.statuses.find(({ chainId }) => chainId === wanted);
  }

  private backfillsOf(chain: ChainStatus): ReadonlyMap<string, BackfillStatus> {
    const known = this.byWatch.get(chain);
    if (known) return known;
    const named = chain.backfills.flatMap((backfill) => backfill.watchIds.map((id) => [id, backfill] as const));
    const backfills = new Map(named);
    this.byWatch.set(chain, backfills);
    return backfills;
  }
}
