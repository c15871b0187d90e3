import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { isLoopback } from '../primitives/loopback.ts';

/** Must be https, because tokens and secrets are sent to this URL. On loopback, nobody else can listen in. */
const providerUrl = z.string().refine((text) => {
  const { protocol, hostname, username, password, hash } = URL.parse(text) ?? { protocol: '' };
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname ?? ''));
  return isSafe && [username, password, hash].every((part) => part === '');
}, 'is not an https URL, or has a user name or a fragment');

/** Parameters that each login sets itself. A setting in their place would break every login, or what protects it. */
const OF_EACH_LOGIN = new Set([
  ...['client_id', 'redirect_uri', 'response_type', 'state', 'nonce', 'code_challenge', 'code_challenge_method'],
  ...['request', 'request_uri'],
]);
const parameters = z
  .record(z.string(), z.string().max(2_048, 'has more than 2,048 characters'))
  .superRefine((given, context) => {
    for (const name of Object.keys(given)) {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', path: [name], message });
      };
      if (OF_EACH_LOGIN.has(name)) refuse('is set by each login itself: remove it');
      else if (name === 'scope') refuse('has a setting of its own: use scopes');
      else if (!/^[\w.-]{1,64}$/.test(name)) refuse('is not the name of a parameter');
    }
  });

/** Path of a member in a token or in the user-info; dots lead into nested objects: `data.id`. */
const memberPath = z.string().regex(/^[\w-]+(\.[\w-]+)*$/, 'is not the name of a member, such as id or data.id');
/** Maps our member names to the provider's. `email` and `name` label the identity, the others fill the profile too. */
const claims = z.strictObject({
  email: memberPath.optional(),
  username: memberPath.optional(),
  name: memberPath.optional(),
  firstname: memberPath.optional(),
  lastname: memberPath.optional(),
  avatar: memberPath.optional(),
});
export type ClaimPaths = z.infer<typeof claims>;

const client = {
  clientId: z.string().min(1),
  /** Separated by spaces. */
  scopes: z.string().optional(),
  /** Where the client's credentials are sent: in a header, or in the body. */
  authentication: z.enum(['basic', 'post']).optional(),
  /** `false` for a provider that refuses PKCE. */
  pkce: z.boolean().optional(),
  /** Further parameters of the login page's URL. */
  parameters: parameters.optional(),
  claims: claims.optional(),
};
const clientSecret = z.string().min(1);

const isP256Key = (pem: string): boolean => {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
};
/** A key in place of a secret: the client signs a short-lived token with this key, as Apple requires. */
const secretKey = z.strictObject({
  key: z.string().refine(isP256Key, 'is not the PEM of a private key on the curve P-256'),
  keyId: z.string().min(1),
  teamId: z.string().min(1),
});
export type ClientSecret = z.infer<typeof clientSecret> | z.infer<typeof secretKey>;

const idTokenAlg = z.enum([
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
]);

const openIdProvider = z
  .strictObject({
    issuer: providerUrl,
    ...client,
    clientSecret: z.unknown().transform((given, context): ClientSecret => {
      const schema = typeof given === 'object' && given !== null ? secretKey : clientSecret;
      return parsedBy(schema, given, context);
    }),
    /** `false` for a provider whose id tokens lack the nonce of the login. */
    nonce: z.boolean().optional(),
    /**
     * Signature algorithm of the id tokens. Default: what the provider's metadata says, but never an HMAC with the
     * client's secret.
     */
    idTokenAlg: idTokenAlg.optional(),
    /** Clients other than `clientId` whose id tokens `POST /auth/{provider}/token` accepts. */
    audiences: z.array(z.string().min(1)).optional(),
  })
  .superRefine(({ idTokenAlg: alg, clientSecret: secret }, context) => {
    const bytesMin = alg?.startsWith('HS') ? Number(alg.slice(2)) / 8 : 0;
    if (typeof secret === 'string' && Buffer.byteLength(secret) >= bytesMin) return;
    if (bytesMin === 0) return;
    context.addIssue({
      code: 'custom',
      path: ['idTokenAlg'],
      message: `needs a clientSecret of at least ${String(bytesMin)} bytes: anybody who guesses it can log in as any user`,
    });
  });

const plainProvider = z.strictObject({
  authorizationEndpoint: providerUrl,
  tokenEndpoint: providerUrl,
  userInfoEndpoint: providerUrl,
  ...client,
  clientSecret,
  subject: memberPath,
  /**
   * Issuer of the identities, so that they stay the same when endpoints move. Default: the origin of the user-info
   * endpoint.
   */
  issuer: z.string().min(1).max(2_048).optional(),
});
export type OpenIdProviderSettings = z.infer<typeof openIdProvider>;
export type PlainProviderSettings = z.infer<typeof plainProvider>;
export type OAuthProviderSettings = OpenIdProviderSettings | PlainProviderSettings;

/** Parses by another schema, and reports the issues of that schema. */
const parsedBy = <Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  context: z.RefinementCtx,
): z.output<Schema> => {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message });
  return z.NEVER;
};

/** An OpenID Connect issuer; or, with `authorizationEndpoint`, a provider of plain OAuth 2. */
export const oauthProviderSettings = z
  .looseObject({})
  .transform((given, context): OAuthProviderSettings =>
    parsedBy('authorizationEndpoint' in given ? plainProvider : openIdProvider, given, context),
  );

/** Whether any endpoint is without TLS, so that a third party could listen in. */
export const isInsecure = (settings: OAuthProviderSettings): boolean =>
  endpointsOf(settings).some((url) => new URL(url).protocol !== 'https:');

const endpointsOf = (settings: OAuthProviderSettings): string[] =>
  'authorizationEndpoint' in settings
    ? [settings.authorizationEndpoint, settings.tokenEndpoint, settings.userInfoEndpoint]
    : [settings.issuer];
