import { z } from 'zod';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting } from '../held.ts';

const countedClaims: Held = {
  purpose: 'to limit how many contract events a user registers',
  retention: lasting('which id claimed which registration'),
};

const claim = z.object({
  watchId: z.string(),
  appId: z.string(),
  userId: z.string().nullable().describe('null: the app itself'),
});

/** Streams `quota-user-<userId>` and `quota-app-<appId>`: the claims on watches that count for them. */
export const quotaEvents = {
  /** Stored before the registration, so that two at once never exceed a quota together. */
  QuotaTaken: event(1, claim, { held: countedClaims }),
  QuotaReturned: event(1, claim, { held: countedClaims }),
};
export type QuotaEvent = EventOf<typeof quotaEvents>;
