import type { RequiredSettings } from './load-settings.ts';

/**
 * Settings that each service requires as a process of its own. A service starts without secrets that it does not use.
 */
export const requiredByService = {
  account: { inProduction: ['MASTER_KEY'] },
  // Only `npm start` has a local chain to fall back on.
  'event-catcher': { always: ['CHAINS'], inProduction: ['EDGE_KEY'] },
  bundler: { always: ['CHAINS'], inProduction: ['MASTER_KEY'] },
  relay: { inProduction: ['EDGE_KEY'] },
  projector: { inProduction: ['MASTER_KEY'] },
  stream: { inProduction: ['EDGE_KEY'] },
} as const satisfies Record<string, RequiredSettings>;

export type ServiceName = keyof typeof requiredByService;
export const serviceNames = Object.keys(requiredByService) as ServiceName[];
