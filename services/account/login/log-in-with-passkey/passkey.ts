import type { PasskeyEvent } from '../../../../schemas/events/account/passkey-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';

/** The COSE algorithms ES256 and RS256: every authenticator has one of these two. */
export const ALGORITHMS = [-7, -257];

type Registered = Extract<PasskeyEvent, { type: 'PasskeyRegistered' }>['data'];

export interface Passkey extends Registered {
  /** The newest that its authenticator gave. */
  counter: number;
  /** Of the login that gave it. */
  stateHash: string | undefined;
}

type State = Passkey | undefined;

export const passkeyFold = {
  initial: undefined as State,
  evolve: (passkey: State, { type, data }: PasskeyEvent): State => {
    switch (type) {
      case 'PasskeyRegistered':
        return passkey ?? { ...data, stateHash: undefined };
      case 'PasskeyUsed':
        return passkey && { ...passkey, counter: data.counter, stateHash: data.stateHash };
    }
  },
};

/**
 * Registers a passkey once, for good. With the attestation `none` nobody vouches for a credential, so a stranger who knows a
 * credential id could otherwise put another key in its place.
 * @throws Refusal passkey_invalid
 */
export const registerPasskey = (passkey: State, registration: Registered): PasskeyEvent[] => {
  if (!passkey) return [{ type: 'PasskeyRegistered', data: registration }];
  const isSame = passkey.userId === registration.userId && passkey.publicKey === registration.publicKey;
  if (!isSame) throw passkeyInvalid('the passkey is registered already');
  return [];
};

/**
 * Records the signature counter of a login (WebAuthn, section 6.1.1). A counter that does not rise comes from a copy of the
 * passkey; an authenticator without a counter always sends 0. The same login again changes nothing.
 * @throws Refusal passkey_invalid
 */
export const usePasskey = (
  passkey: State,
  { counter, stateHash }: { counter: number; stateHash: string },
): PasskeyEvent[] => {
  if (!passkey) throw unknownPasskey();
  if (passkey.stateHash === stateHash && passkey.counter === counter) return [];
  if (counter === 0 && passkey.counter === 0) return [];
  if (counter <= passkey.counter) throw passkeyInvalid('the counter of the passkey has not risen: it may be a copy');
  return [{ type: 'PasskeyUsed', data: { identityId: passkey.identityId, counter, stateHash } }];
};

export const passkeyInvalid = (detail: string, cause?: unknown): Refusal =>
  new Refusal('passkey_invalid', detail, { cause });

export const unknownPasskey = (): Refusal => passkeyInvalid('this passkey logs in nobody here');

export const userHandleOf = (userId: string): string => Buffer.from(userId).toString('base64url');
