import { appsProjection } from './apps/apps.projection.ts';
import { chainEventsProjection } from './chain-events/chain-events.projection.ts';
import { chainsProjection } from './chains/chains.projection.ts';
import { historyProjection } from './history/history.projection.ts';
import type { Projection } from './run-projection/projection.ts';
import { sessionsProjection } from './sessions/sessions.projection.ts';
import { usersProjection } from './users/users.projection.ts';
import { watchesProjection } from './watches/watches.projection.ts';

/** Every read model. */
export const projections: readonly Projection[] = [
  usersProjection,
  sessionsProjection,
  appsProjection,
  historyProjection,
  watchesProjection,
  chainEventsProjection,
  chainsProjection,
];
