import { rateLimits, type RateLimitName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../../shared/config/settings.ts';

/** How much a client may have at a time. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
}

export const streamLimits = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): StreamLimits => {
  const atATime = (name: RateLimitName): number =>
    RATE_LIMITS === 'off' ? Infinity : (RATE_LIMITS[name] ?? rateLimits[name]).points;
  return { subscriptionsPerConnection: atATime('subscriptions'), connectionsPerUser: atATime('connections') };
};
