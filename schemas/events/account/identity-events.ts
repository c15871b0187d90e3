import { z } from 'zod';
import { loginMethod } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting, untilErased } from '../held.ts';

/** The address of a wallet or mailbox, the id of a messenger or provider: as people see it. */
export const identityLabel: Held = {
  purpose: 'to show the user which identities log in to the account',
  retention: untilErased('labels of identities'),
};
const claim: Held = {
  purpose: 'to log in one user, and no other, with an identity',
  retention: lasting('which id had an identity when'),
};

export const identityStream = (identityId: string): string => `identity-${identityId}`;

/** Stream `identity-<identityId>`: the user of the first append holds the identity, until it is released. */
export const identityEvents = {
  IdentityClaimed: event(
    2,
    z.object({ identityId: z.string(), userId: z.string(), method: loginMethod, label: z.string() }),
    { held: claim, personal: { label: identityLabel } },
  ),
  /** It was unlinked, or its user was erased. Whoever proves it next may claim it. */
  IdentityReleased: event(1, z.object({ identityId: z.string(), userId: z.string() }), { held: claim }),
};
export type IdentityEvent = EventOf<typeof identityEvents>;
