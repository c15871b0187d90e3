import { z } from 'zod';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting, untilErased } from '../held.ts';

const purpose = 'to verify logins with a passkey';
const passkey: Held = { purpose, retention: untilErased('passkeys') };
const aboutPasskey: Held = { purpose, retention: lasting('the counter and transports of a passkey') };

export const passkeyStream = (identityId: string): string => `passkey-${identityId}`;

/** Stream `passkey-<identityId>`: a passkey, by the identity of its RP id and credential id. */
export const passkeyEvents = {
  PasskeyRegistered: event(
    1,
    z.object({
      userId: z.string(),
      identityId: z.string(),
      rpId: z.string(),
      /** In base64url, as the browser has it. */
      credentialId: z.string(),
      /** A COSE key, in base64url. */
      publicKey: z.string(),
      /** How often the authenticator says that it has signed; 0 if it does not count. */
      counter: z.int().nonnegative(),
      /** How the browser reached the authenticator: a hint that it is given back. */
      transports: z.array(z.string()),
    }),
    { held: aboutPasskey, personal: { credentialId: passkey, publicKey: passkey } },
  ),
  /** The authenticator counts, and its counter has risen. */
  PasskeyUsed: event(
    1,
    z.object({
      identityId: z.string(),
      counter: z.int().positive(),
      /** SHA-256 of the state of that login. */
      stateHash: z.string(),
    }),
  ),
};
export type PasskeyEvent = EventOf<typeof passkeyEvents>;
