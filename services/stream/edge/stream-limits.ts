import type { Settings } from '../../../shared/config/settings.ts';

/** Section 9 of the interface. */
export interface StreamLimits {
  subscriptionsPerConnection: number;
  connectionsPerUser: number;
  commands: { points: number; seconds: number };
}

export const streamLimits = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): StreamLimits => {
  if (RATE_LIMITS === 'off') {
    const commands = { points: Infinity, seconds: 1 };
    return { subscriptionsPerConnection: Infinity, connectionsPerUser: Infinity, commands };
  }
  return {
    subscriptionsPerConnection: RATE_LIMITS.subscriptions?.points ?? 128,
    connectionsPerUser: RATE_LIMITS.connections?.points ?? 100,
    commands: RATE_LIMITS.streamCommand ?? { points: 50, seconds: 1 },
  };
};
