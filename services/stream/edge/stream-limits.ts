import { rateLimits, type RateLimitName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../../shared/config/settings.ts';

/** As many as an address may have requests under way: a socket that has not connected is one that is not answered yet. */
const WAITING_SOCKETS_PER_ADDRESS = 256;

/** How much a client may have at a time, and how many packets it may send. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
  /** Sockets of an address whose token is not known to be good. */
  waitingSocketsPerAddress: number;
  /** A socket may send as many packets as an address may send requests. */
  packetsPerSocket: { points: number; seconds: number };
}

export const streamLimits = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): StreamLimits => {
  const isOff = RATE_LIMITS === 'off';
  const limitOf = (name: RateLimitName): number => (isOff ? Infinity : (RATE_LIMITS[name] ?? rateLimits[name]).points);
  return {
    subscriptionsPerConnection: limitOf('subscriptions'),
    connectionsPerUser: limitOf('connections'),
    waitingSocketsPerAddress: isOff ? Infinity : WAITING_SOCKETS_PER_ADDRESS,
    packetsPerSocket: {
      points: limitOf('address'),
      seconds: ((isOff ? undefined : RATE_LIMITS.address) ?? rateLimits.address).seconds,
    },
  };
};
