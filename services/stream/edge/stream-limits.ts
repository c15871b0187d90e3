import { rateLimits, type RateLimitName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { atATime } from '../../../shared/edge/limits/rate-limits.ts';

/** Enough for a client to read again after a burst. */
const STALL_GRACE_MS = 3_000;
/** Less than the 4.5 s within which an answer must start. */
const COLLECTING_MS = 3_000;

/** What a client may have concurrently, how many packets it may send, and how long it may keep the node waiting. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
  /** Sockets of an address whose token is not verified yet. */
  waitingSocketsPerAddress: number;
  /** A socket may send as many packets as an address may send requests. */
  packetsPerSocket: { points: number; seconds: number };
  /** How long a client that has missed much may take until it reads again. */
  stallGraceMs: number;
  /** A page that is not full after this time is answered with what it has. */
  collectingMs: number;
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
    stallGraceMs: STALL_GRACE_MS,
    collectingMs: COLLECTING_MS,
  };
};
