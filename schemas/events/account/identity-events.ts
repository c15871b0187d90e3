import { z } from 'zod';
import { loginMethod } from '../values.ts';
import { event, type EventOf } from './event.ts';

export const identityStream = (identityId: string): string => `identity-${identityId}`;

/** Stream `identity-<identityId>`: the user of the first append holds the identity, until it is released. */
export const identityEvents = {
  IdentityClaimed: event(
    2,
    z.object({ identityId: z.string(), userId: z.string(), method: loginMethod, label: z.string() }),
    { personal: ['label'] },
  ),
  /** It was unlinked, or its user was erased. Whoever proves it next may claim it. */
  IdentityReleased: event(1, z.object({ identityId: z.string(), userId: z.string() })),
};
export type IdentityEvent = EventOf<typeof identityEvents>;
