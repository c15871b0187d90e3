import { z } from 'zod';
import { route } from '../route.ts';
import { session } from './session.ts';

/** The longest id of a credential is 1,023 bytes. */
const CREDENTIAL_ID_CHARACTERS_MAX = 1_364;
const CHARACTERS_MAX = 65_536;

const base64url = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .regex(/^[A-Za-z0-9_-]+$/, 'is not base64url without padding');
const credentialId = base64url(CREDENTIAL_ID_CHARACTERS_MAX);
const transports = z.array(z.string().regex(/^[a-z-]{1,32}$/, 'is not the name of a transport')).max(16);
const state = z
  .string()
  .max(64)
  .describe('that of the options; used once, by the app, origin and session that asked for it');

const options = {
  challenge: z.string(),
  timeout: z.int().describe('milliseconds'),
};
export const creationOptions = z.object({
  ...options,
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
  excludeCredentials: z.array(z.object({ type: z.literal('public-key'), id: z.string(), transports })),
  authenticatorSelection: z.object({
    residentKey: z.literal('required'),
    requireResidentKey: z.literal(true),
    userVerification: z.literal('preferred'),
  }),
  attestation: z.literal('none'),
});
export type CreationOptions = z.infer<typeof creationOptions>;

export const requestOptions = z.object({
  ...options,
  rpId: z.string(),
  allowCredentials: z.array(z.never()).describe('empty: the person chooses among the passkeys of the RP id'),
  userVerification: z.literal('preferred'),
});
export type RequestOptions = z.infer<typeof requestOptions>;

const credential = {
  id: credentialId,
  rawId: credentialId,
  type: z.literal('public-key'),
};
/** As `PublicKeyCredential.toJSON()` writes what `navigator.credentials.create()` returns. */
export const registeredCredential = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(CHARACTERS_MAX),
    attestationObject: base64url(CHARACTERS_MAX),
    transports: transports.exactOptional(),
  }),
});
export type RegisteredCredential = z.infer<typeof registeredCredential>;
/** As `PublicKeyCredential.toJSON()` writes what `navigator.credentials.get()` returns. */
export const signedCredential = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url(CHARACTERS_MAX),
    authenticatorData: base64url(CHARACTERS_MAX),
    signature: base64url(CHARACTERS_MAX),
    userHandle: base64url(88).nullish(),
  }),
});
export type SignedCredential = z.infer<typeof signedCredential>;

const asking = {
  service: 'account',
  method: 'POST',
  auth: 'app',
  rateLimit: 'login',
  status: 201,
} as const;
const completing = {
  ...asking,
  command: true,
  identifiedBy: 'state',
  answer: session,
} as const;

export const passkeyRoutes = {
  askToRegisterPasskey: route({
    ...asking,
    path: '/auth/passkey/register-options',
    summary: 'Begin to make a passkey: for a new user, or with a bearer token one that links',
    answer: z.object({
      state,
      options: creationOptions.describe('for PublicKeyCredential.parseCreationOptionsFromJSON'),
    }),
    problems: ['forbidden', 'login_too_old'],
  }),
  registerPasskey: route({
    ...completing,
    path: '/auth/passkey/register',
    summary: 'Log in with a passkey that was just made',
    body: z.object({ state, credential: registeredCredential }),
    problems: ['state_unknown', 'passkey_invalid', 'forbidden', 'session_revoked', 'identity_taken', 'user_erased'],
  }),
  askForPasskey: route({
    ...asking,
    path: '/auth/passkey/options',
    summary: 'Begin a login with a passkey',
    answer: z.object({
      state,
      options: requestOptions.describe('for PublicKeyCredential.parseRequestOptionsFromJSON'),
    }),
    problems: [],
  }),
  logInWithPasskey: route({
    ...completing,
    path: '/auth/passkey',
    summary: 'Log in with a passkey',
    body: z.object({ state, credential: signedCredential }),
    problems: ['state_unknown', 'passkey_invalid', 'session_revoked', 'identity_taken', 'user_erased'],
  }),
};
