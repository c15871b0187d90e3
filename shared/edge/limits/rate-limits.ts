import { isIPv6 } from 'node:net';
import { rateLimits, type AtATimeName, type CountedName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../config/settings.ts';
import { Refusal } from '../../errors/refusal.ts';
import { systemClock, type Clock } from '../../primitives/clock.ts';
import type { TokenCaller } from '../../auth/caller.ts';
import { CallerCounts, type SharedCount, type SharedCounts } from './shared-counts.ts';

/** How many callers each limit remembers. Beyond that, the least recent caller is dropped. */
const KEYS_MAX = 50_000;

export interface RateLimitStatus {
  name: CountedName;
  points: number;
  windowSeconds: number;
  remaining: number;
  resetSeconds: number;
  exceeded: boolean;
}

/** Counts the requests of each caller: in this process, or, for a shared limit with `counts` given, in all of them. */
export class RateLimits {
  private readonly counters = new Map<CountedName, Counter>();

  constructor({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>, counts?: SharedCounts, clock: Clock = systemClock) {
    if (RATE_LIMITS === 'off') return;
    for (const [name, limit] of Object.entries(rateLimits)) {
      if (!('seconds' in limit)) continue;
      const counted = name as CountedName;
      const allowed = RATE_LIMITS[counted] ?? limit;
      const { seconds } = allowed;
      const counter =
        counts && 'shared' in limit
          ? new Counter(counted, allowed, counts.countsOf(counted, { seconds, callersMax: KEYS_MAX }), clock)
          : new Counter(counted, allowed, ownCounts(seconds), systemClock);
      this.counters.set(counted, counter);
    }
  }

  /**
   * Counts one or several requests. Does not throw if the limit is exceeded; see `refuseExceeded`.
   * @returns `undefined` if limits are off
   */
  count(name: CountedName, key: string, requests = 1): Promise<RateLimitStatus | undefined> {
    return this.counters.get(name)?.count(key, requests) ?? Promise.resolve(undefined);
  }

  /**
   * Counts calls of `/rpc`: first by user, so that no user exhausts the app's quota for others, then by app. An app
   * itself counts as the app only.
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

/** Refuses a caller who has used up a quota: what it `may` do, counted in a unit. @throws Refusal rate_limited */
export const refuseUsedUp = (status: RateLimitStatus | undefined, may: string, unit: string): void => {
  if (!status?.exceeded) return;
  const allowed = `${String(status.points)} ${unit} in ${String(status.windowSeconds)} s`;
  throw new Refusal('rate_limited', `what one caller may ${may} is used up: ${allowed}`, {
    retryAfter: Math.max(1, status.resetSeconds),
  });
};

/** Returns the maximum number at a time; `Infinity` if limits are off. */
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

/** Counts that stay in this process. */
const ownCounts = (seconds: number): CallerCounts =>
  new CallerCounts(systemClock, seconds * 1_000, KEYS_MAX, { idOf: (caller) => caller, changed: () => undefined });

/** The requests of each caller that one limit counts. */
class Counter {
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
