import type { KeyObject } from 'node:crypto';
import type { PublicKeys } from '../../../schemas/http/account-routes.ts';

export interface SigningKey {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** The ES256 keys of this service: the newest one signs, all of them verify. */
export interface SigningKeys {
  current: SigningKey;
  byId: (kid: string) => SigningKey | undefined;
  published: PublicKeys;
}

export const SIGNING_KEYS = Symbol('SigningKeys');
