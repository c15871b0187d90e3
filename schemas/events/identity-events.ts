import { z } from 'zod';
import { loginMethod } from '../values.ts';
import { event, type EventOf } from './event.ts';

/** Stream `identity-<sha256 of the method and what it proves>`: the user of the first append holds the identity. */
export const identityEvents = {
  IdentityClaimed: event(
    1,
    z.object({ identityId: z.string(), userId: z.string(), method: loginMethod, label: z.string() }),
  ),
};
export type IdentityEvent = EventOf<typeof identityEvents>;
