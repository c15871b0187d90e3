import type { RequiredSettings } from './load-settings.ts';

/** What each service needs as a process of its own. It is started without secrets that it does not use. */
export const requiredByService = {
  account: { inProduction: ['MASTER_KEY'] },
  // Only npm start has a local chain.
  'event-catcher': { always: ['CHAINS'], inProduction: ['MASTER_KEY'] },
  relay: { inProduction: ['MASTER_KEY'] },
  projector: { inProduction: ['MASTER_KEY'] },
  stream: { inProduction: ['MASTER_KEY'] },
} as const satisfies Record<string, RequiredSettings>;

export type ServiceName = keyof typeof requiredByService;
export const serviceNames = Object.keys(requiredByService) as ServiceName[];
