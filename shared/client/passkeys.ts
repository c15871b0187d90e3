import { AnnalsError } from './annals-error.ts';
import type { RouteInput } from './caller.ts';

type Registered = RouteInput<'registerPasskey'>['body']['credential'];
type Signed = RouteInput<'logInWithPasskey'>['body']['credential'];

/** What a browser has for passkeys, in its own JSON forms. */
interface Credential {
  toJSON: () => unknown;
}
interface Passkeys {
  navigator?: {
    credentials?: {
      create: (options: object) => Promise<Credential | null>;
      get: (options: object) => Promise<Credential | null>;
    };
  };
  PublicKeyCredential?: {
    parseCreationOptionsFromJSON?: (options: object) => object;
    parseRequestOptionsFromJSON?: (options: object) => object;
  };
}

interface Asking {
  signal?: AbortSignal | undefined;
}

export const createCredential = async (options: object, { signal }: Asking): Promise<Registered> => {
  const { navigator, PublicKeyCredential } = globalThis as Passkeys;
  const publicKey = PublicKeyCredential?.parseCreationOptionsFromJSON?.(options);
  return given(
    publicKey && (await navigator?.credentials?.create({ publicKey, ...(signal && { signal }) })),
  ).toJSON() as Registered;
};

export const getCredential = async (options: object, { signal }: Asking): Promise<Signed> => {
  const { navigator, PublicKeyCredential } = globalThis as Passkeys;
  const publicKey = PublicKeyCredential?.parseRequestOptionsFromJSON?.(options);
  return given(
    publicKey && (await navigator?.credentials?.get({ publicKey, ...(signal && { signal }) })),
  ).toJSON() as Signed;
};

const given = (credential: Credential | null | undefined): Credential => {
  if (!credential) throw new AnnalsError('passkey_invalid', 'this browser has no passkeys, or gave none');
  return credential;
};
