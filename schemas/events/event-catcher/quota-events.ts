import { z } from 'zod';
import { event, type EventOf } from './event.ts';

const claim = z.object({
  watchId: z.string(),
  appId: z.string(),
  userId: z.string().nullable().describe('null: the app itself'),
});

/** Streams `quota-user-<userId>` and `quota-app-<appId>`: the claims on watches that count for them. */
export const quotaEvents = {
  /** Stored before the registration, so that two at once never exceed a quota together. */
  QuotaTaken: event(1, claim),
  QuotaReturned: event(1, claim),
};
export type QuotaEvent = EventOf<typeof quotaEvents>;
