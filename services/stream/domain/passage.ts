import type { Place } from './cursor.ts';
import type { Delivery } from './delivery.ts';

/** A stretch of a channel. */
export interface Passage {
  deliveries: Delivery[];
  /** Where it ends: what was before is in it or in an earlier one. */
  end: Place;
}
