import type { RequiredSettings } from './load-settings.ts';

/** What each service needs as a process of its own. It is started without secrets that it does not use. */
export const requiredByService = {
  account: { inProduction: ['MASTER_KEY'] },
  // Only npm start has a local chain.
  'event-catcher': { always: ['CHAINS'], inProduction: ['EDGE_KEY'] },
  relay: { inProduction: ['EDGE_KEY'] },
  projector: { inProduction: ['MASTER_KEY'] },
  stream: { inProduction: ['EDGE_KEY'] },
} as const satisfies Record<string, RequiredSettings>;

export type ServiceName = keyof typeof requiredByService;
export const serviceNames = Object.keys(requiredByService) as ServiceName[];
