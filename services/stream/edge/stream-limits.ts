import { rateLimits, type RateLimitName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { atATime } from '../../../shared/edge/limits/rate-limits.ts';

/** What a client may have concurrently, and how many packets it may send. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
  /** Sockets of an address whose token is not verified yet. */
  waitingSocketsPerAddress: number;
  /** A socket may send as many packets as an address may send requests. */
  packetsPerSocket: { points: number; seconds: number };
}

export const streamLimits = (settings: Pick<Settings, 'RATE_LIMITS'>): StreamLimits => {
  const { RATE_LIMITS } = settings;
  const isOff = RATE_LIMITS === 'off';
  const limitOf = (name: RateLimitName): number => (isOff ? Infinity : (RATE_LIMITS[name] ?? rateLimits[name]).points);
  return {
    subscriptionsPerConnection: limitOf('subscriptions'),
    connectionsPerUser: limitOf('connections'),
    // A socket that has not connected counts as a request that is not answered yet.
    waitingSocketsPerAddress: atATime(settings, 'requestsPerAddress'),
    packetsPerSocket: {
      points: limitOf('address'),
      seconds: ((isOff ? undefined : RATE_LIMITS.address) ?? rateLimits.address).seconds,
    },
  };
};
