import { rateLimits, type RateLimitName } from '../../../schemas/http/rate-limits.ts';
import type { Settings } from '../../../shared/config/settings.ts';

/** How many connections and subscriptions a client may have at a time. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
}

export const streamLimits = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): StreamLimits => {
  const limitOf = (name: RateLimitName): number =>
    RATE_LIMITS === 'off' ? Infinity : (RATE_LIMITS[name] ?? rateLimits[name]).points;
  return { subscriptionsPerConnection: limitOf('subscriptions'), connectionsPerUser: limitOf('connections') };
};
