import type { CatcherAnnouncement } from '../../../schemas/announcements.ts';
import type { Member } from '../../../shared/cluster/members.ts';
import { THIS_PROCESS } from '../../../shared/loops/lease-holder.ts';
import type { LeaseSharing } from '../../../shared/loops/leased-loop.ts';
import { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { Logger } from '../../../shared/host/logger.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/pause.ts';
import { isNext, surplusOf, type CatcherLoad } from '../domain/chain-shares.ts';

const LOOK_EVERY_MS = 1_000;
/** Until then whoever follows fewest takes a chain that was given away. */
const OTHERS_FIRST_MS = 2_000;
/** What others announce is some seconds old: after a change nothing is given away until they must know of it. */
const SETTLED_AFTER_MS = 5_000;
/** For so long a chain that could not be followed here is others' first. */
const FAILING_FOR_MS = 60_000;

type AnnouncedChains = Omit<CatcherAnnouncement, 'domain' | 'statuses'>;

interface ChainSharesOptions {
  /** Default: this process. */
  id?: string;
  chainIds: readonly number[];
  catchers: { known: () => Member<AnnouncedChains>[] };
  clock: Pick<Clock, 'elapsed'>;
  logger: Logger;
}

/** Divides the chains among the event catchers that live: each gives to others what it follows beyond its share. */
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
    this.loop = new SupervisedLoop('sharing chains', logger, async (signal, reportRunning) => {
      while (!signal.aborted) {
        this.giveSurplus();
        reportRunning();
        await pause(LOOK_EVERY_MS, signal);
      }
    });
  }

  /** What this event catcher tells the others. */
  get announcement(): AnnouncedChains {
    const { chainIds } = this.options;
    const failing = chainIds.filter((chainId) => this.isFailing(chainId));
    return { chainIds: [...chainIds], failing, followed: [...this.followed.keys()] };
  }

  /** How the lease of a chain is shared. */
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

  /** The chain cannot be followed here; perhaps it can elsewhere. */
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
