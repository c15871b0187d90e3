import type { BackfillRange } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { EndpointNature } from '../simulated-chain/simulated-habits.ts';

export type Unread = Omit<BackfillRange, 'watchIds'>;

/** The first block that any endpoint has in the end. */
export const firstGiven = (endpoints: readonly EndpointNature[]): number =>
  Math.min(...endpoints.filter(({ lasting }) => lasting.length === 0).map(({ keepsFrom }) => keepsFrom));

/** Whether a block is in one of these ranges. */
export const isAmong = (ranges: readonly Unread[], block: number): boolean =>
  ranges.some(({ next, to, joins }) => next <= block && (joins || block <= to));
