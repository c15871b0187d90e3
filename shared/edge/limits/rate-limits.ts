import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimits, type AtATimeName, type CountedName } from '../../schemas/http/rate-limits.ts';
import type { Settings } from '../config/settings.ts';
import { Refusal } from '../errors/refusal.ts';
import { systemClock, type Clock } from '../primitives/clock.ts';
import type { TokenCaller } from '../auth/caller.ts';
import type { CallerCounts, SharedCount, SharedCounts } from './shared-counts.ts';

/** How many callers each limit remembers. Beyond that, the least recent caller is forgotten. */
const KEYS_MAX = 50_000;

export interface RateLimitStatus {
  name: CountedName;
  points: number;
  windowSeconds: number;
  remaining: number;
  resetSeconds: number;
  exceeded: boolean;
}

/** Counts the requests of each caller: in this process, or where a limit is shared and `counts` are given, in all of them. */
export class RateLimits {
  private readonly counters = new Map<CountedName, Counter | SharedCounter>();

  constructor({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>, counts?: SharedCounts, clock: Clock = systemClock) {
    if (RATE_LIMITS === 'off') return;
    for (const [name, limit] of Object.entries(rateLimits)) {
      if (!('seconds' in limit)) continue;
      const counted = name as CountedName;
      const allowed = RATE_LIMITS[counted] ?? limit;
      const { seconds } = allowed;
      const counter =
        counts && 'shared' in limit
          ? new SharedCounter(counted, allowed, counts.countsOf(counted, { seconds, callersMax: KEYS_MAX }), clock)
          : new Counter(counted, allowed);
      this.counters.set(counted, counter);
    }
  }

  /** Counts a request, or so many. Does not throw if the limit is exceeded; see `refuseExceeded`. @returns `undefined` if limits are off */
  count(name: CountedName, key: string, requests = 1): Promise<RateLimitStatus | undefined> {
    return this.counters.get(name)?.count(key, requests) ?? Promise.resolve(undefined);
  }

  /**
   * Counts calls of `/rpc`: by the user first, so that nobody uses up what the app may ask for others, then by the app. An
   * app itself counts as the app alone.
   */
  async countRpc(
    caller: Pick<TokenCaller, 'kind' | 'userId' | 'appId'>,
    calls = 1,
  ): Promise<RateLimitStatus | undefined> {
    const byUser = caller.kind === 'user' ? await this.count('rpc', `user:${caller.userId}`, calls) : undefined;
    if (byUser?.exceeded) return byUser;
    const byApp = await this.count('rpcApp', `app:${caller.appId}`, calls);
    return byApp?.exceeded ? byApp : (byUser ?? byApp);
  }

  /** Counts bytes that a caller has stored on this day. @throws Refusal rate_limited */
  async countBytes(key: string, bytes: number): Promise<void> {
    refuseUsedUp(await this.count('storedBytes', key, bytes), 'store', 'bytes');
  }

  /** Like `count`, but only tells whether another request would exceed the limit. */
  peek(name: CountedName, key: string): Promise<RateLimitStatus | undefined> {
    return this.counters.get(name)?.peek(key) ?? Promise.resolve(undefined);
  }
}

/** @throws Refusal rate_limited */
export const refuseExceeded = (status: RateLimitStatus | undefined): void => {
  if (!status?.exceeded) return;
  const { points, windowSeconds, resetSeconds } = status;
  throw limited(`${String(points)} per ${String(windowSeconds)} s`, Math.max(1, resetSeconds));
};

/** Refuses a caller who has used up what it `may` do, counted in a unit. @throws Refusal rate_limited */
export const refuseUsedUp = (status: RateLimitStatus | undefined, may: string, unit: string): void => {
  if (!status?.exceeded) return;
  const allowed = `${String(status.points)} ${unit} in ${String(status.windowSeconds)} s`;
  throw new Refusal('rate_limited', `what one caller may ${may} is used up: ${allowed}`, {
    retryAfter: Math.max(1, status.resetSeconds),
  });
};

/** Returns how many there may be at a time; `Infinity` if limits are off. */
export const atATime = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>, name: AtATimeName): number =>
  RATE_LIMITS === 'off' ? Infinity : (RATE_LIMITS[name] ?? rateLimits[name]).points;

/** For an address that is refused before its request is read. */
export const addressAsksTooOften = (): Refusal =>
  new Refusal('rate_limited', 'the address asks too often', { retryAfter: 1 });

/** @param allowed such as `100 connections` */
export const limitedAtATime = (allowed: string): Refusal => limited(`${allowed} at a time`, 1);

const limited = (allowed: string, retryAfter: number): Refusal =>
  new Refusal('rate_limited', `${allowed} are allowed`, { retryAfter });

/** The header fields of draft-ietf-httpapi-ratelimit-headers. */
export const rateLimitHeaders = (status: RateLimitStatus): Record<string, string> => ({
  RateLimit: `"${status.name}";r=${String(status.remaining)};t=${String(status.resetSeconds)}`,
  'RateLimit-Policy': `"${status.name}";q=${String(status.points)};w=${String(status.windowSeconds)}`,
});

/** Returns the key of a caller's address. For IPv6 it is the /64 prefix, which one subscriber line has. */
export const addressKey = (ip: string): string => {
  if (!isIPv6(ip)) return `ip:${ip}`;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip);
  if (mapped?.[1]) return `ip:${mapped[1]}`;
  const [left = '', right] = ip.split('%')[0]?.split('::') ?? [];
  const head = left === '' ? [] : left.split(':');
  const tail = right ? right.split(':') : [];
  const zeros = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...tail];
  return `ip:${groups
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
};

class Counter {
  private readonly limiter: RateLimiterMemory;
  private readonly keys: LRUCache<string, true>;

  constructor(
    private readonly name: CountedName,
    private readonly limit: { points: number; seconds: number },
  ) {
    this.limiter = new RateLimiterMemory({ points: limit.points, duration: limit.seconds });
    this.keys = new LRUCache({
      max: KEYS_MAX,
      dispose: (_, key, reason) => {
        if (reason === 'evict') void this.limiter.delete(key);
      },
    });
  }

  async count(key: string, requests: number): Promise<RateLimitStatus> {
    this.keys.set(key, true);
    try {
      return this.status(await this.limiter.consume(key, requests), false);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      return this.status(error, true);
    }
  }

  async peek(key: string): Promise<RateLimitStatus> {
    const counted = await this.limiter.get(key);
    return this.status(counted, counted !== null && counted.msBeforeNext > 0 && counted.remainingPoints <= 0);
  }

  private status(counted: RateLimiterRes | null, exceeded: boolean): RateLimitStatus {
    const { points, seconds } = this.limit;
    return {
      name: this.name,
      points,
      windowSeconds: seconds,
      remaining: Math.max(0, counted?.remainingPoints ?? points),
      resetSeconds: Math.ceil((counted?.msBeforeNext ?? 0) / 1_000),
      exceeded,
    };
  }
}

class SharedCounter {
  constructor(
    private readonly name: CountedName,
    private readonly limit: { points: number; seconds: number },
    private readonly counts: CallerCounts,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  count(key: string, requests: number): Promise<RateLimitStatus> {
    const counted = this.counts.add(key, requests, this.limit.points);
    return Promise.resolve(this.status(counted, counted.points > this.limit.points));
  }

  peek(key: string): Promise<RateLimitStatus> {
    const counted = this.counts.get(key);
    return Promise.resolve(this.status(counted, counted !== undefined && counted.points >= this.limit.points));
  }

  private status(counted: SharedCount | undefined, exceeded: boolean): RateLimitStatus {
    const { points, seconds } = this.limit;
    return {
      name: this.name,
      points,
      windowSeconds: seconds,
      remaining: Math.max(0, points - (counted?.points ?? 0)),
      resetSeconds: counted ? Math.ceil((counted.endsAt - this.clock.now()) / 1_000) : 0,
      exceeded,
    };
  }
}
