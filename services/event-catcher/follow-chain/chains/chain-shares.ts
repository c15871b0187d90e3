import type { CatcherAnnouncement } from '../../../../schemas/announcements.ts';
import type { Member } from '../../../../shared/coordination/members.ts';
import { THIS_PROCESS } from '../../../../shared/loops/lease-holder.ts';
import type { LeaseSharing } from '../../../../shared/loops/leased-loop.ts';
import { pollLoop } from '../../../../shared/loops/poll-loop.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import type { Logger } from '../../../../shared/host/logger.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { isNext, surplusOf, type CatcherLoad } from '../../domain/chain-shares.ts';

const LOOK_EVERY_MS = 1_000;
/** A chain that an event catcher gave away is left, for this long, to the catchers that follow the fewest chains. */
const OTHERS_FIRST_MS = 2_000;
/**
 * After it took or released a chain, an event catcher gives no chain away for this long: the other catchers learn of
 * the change some seconds late.
 */
const SETTLED_AFTER_MS = 5_000;
/** After a failure, other catchers get the first chance to lease the chain for this long. */
const FAILING_FOR_MS = 60_000;

type AnnouncedChains = Omit<CatcherAnnouncement, 'domain' | 'statuses'>;

interface ChainSharesOptions {
  /** Id of this event catcher; default: the id of this process. */
  id?: string;
  chainIds: readonly number[];
  catchers: { known: () => Member<AnnouncedChains>[] };
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/** Divides the chains among the running event catchers: each catcher gives away the chains beyond its share. */
export class ChainShares {
  readonly loop: SupervisedLoop;
  readonly id: string;
  private readonly followed = new Map<number, AbortController>();
  private readonly failedAt = new Map<number, number>();
  private readonly givenAt = new Map<number, number>();
  private changedAt: number;

  constructor(private readonly options: ChainSharesOptions) {
    const { id = THIS_PROCESS, clock, logger } = options;
    this.id = id;
    this.changedAt = clock.elapsed();
    this.loop = pollLoop('sharing chains', logger, LOOK_EVERY_MS, () => {
      this.giveSurplus();
      return Promise.resolve();
    });
  }

  /**
   * What this event catcher tells other catchers: its chains, those it follows, and those it lately failed to follow.
   */
  get announcement(): AnnouncedChains {
    const { chainIds } = this.options;
    const failing = chainIds.filter((chainId) => this.isFailing(chainId));
    return { chainIds: [...chainIds], failing, followed: [...this.followed.keys()] };
  }

  sharing(chainId: number): LeaseSharing {
    return {
      mayTake: (freeMs, wasGiven) => {
        const able = this.others().filter(({ serves }) => serves.includes(chainId));
        if (freeMs >= OTHERS_FIRST_MS || able.length === 0) return true;
        if (this.isFailing(chainId) || this.gaveLately(chainId)) return false;
        return !wasGiven || isNext(this.own, able);
      },
      begin: () => {
        const giving = new AbortController();
        this.followed.set(chainId, giving);
        this.changedAt = this.options.clock.elapsed();
        return giving.signal;
      },
      end: () => {
        this.followed.delete(chainId);
        this.changedAt = this.options.clock.elapsed();
      },
    };
  }

  /** Notes that this catcher failed to follow the chain, so that other catchers get the first chance. */
  failed(chainId: number): void {
    this.failedAt.set(chainId, this.options.clock.elapsed());
  }

  private giveSurplus(): void {
    const { clock, logger } = this.options;
    if (this.agoMs(this.changedAt) < SETTLED_AFTER_MS) return;
    for (const chainId of surplusOf(this.own, this.others())) {
      this.givenAt.set(chainId, clock.elapsed());
      logger.info({ chainId }, 'the chain is given to an event catcher that follows fewer');
      this.followed.get(chainId)?.abort(new Error('another event catcher is to follow it'));
    }
  }

  private get own(): CatcherLoad {
    return loadOf(this.id, this.announcement);
  }

  private others(): CatcherLoad[] {
    return this.options.catchers
      .known()
      .filter(({ id, isAlive }) => isAlive && id !== this.id)
      .map(({ id, document }) => loadOf(id, document));
  }

  private isFailing(chainId: number): boolean {
    return this.agoMs(this.failedAt.get(chainId)) < FAILING_FOR_MS;
  }

  private gaveLately(chainId: number): boolean {
    return this.agoMs(this.givenAt.get(chainId)) < SETTLED_AFTER_MS;
  }

  private agoMs(time = -Infinity): number {
    return this.options.clock.elapsed() - time;
  }
}

const loadOf = (id: string, { chainIds, failing, followed }: AnnouncedChains): CatcherLoad => ({
  id,
  serves: chainIds.filter((chainId) => !failing.includes(chainId)),
  followed,
});
