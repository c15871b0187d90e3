import { z } from 'zod';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Tokens and secrets travel to it. Nobody but who has this machine can listen in on its loopback. */
const providerUrl = z.string().refine((text) => {
  const { protocol, hostname, username, password, hash } = URL.parse(text) ?? { protocol: '' };
  const isSafe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname ?? ''));
  return isSafe && [username, password, hash].every((part) => part === '');
}, 'is not an https URL, or has a user name or a fragment');

const client = {
  clientId: z.string().min(1),
  clientSecret: z.string().min(1),
  /** Separated by spaces. */
  scopes: z.string().optional(),
  /** How the client says who it is: in a header, or in the body. */
  authentication: z.enum(['basic', 'post']).optional(),
};

const openIdProvider = z.strictObject({ issuer: providerUrl, ...client });
/** A member of the user-info; with dots, one that is further inside. */
const memberPath = z.string().regex(/^[\w-]+(\.[\w-]+)*$/, 'is not the name of a member, such as id or data.id');
const plainProvider = z.strictObject({
  authorizationEndpoint: providerUrl,
  tokenEndpoint: providerUrl,
  userInfoEndpoint: providerUrl,
  ...client,
  subject: memberPath,
  /** Whence the label is taken that people know their identity by; the first that is there. */
  claims: z
    .strictObject({ email: memberPath.optional(), username: memberPath.optional(), name: memberPath.optional() })
    .optional(),
  /** Of the identities, so that they stay the same when endpoints move; default the origin of the user-info. */
  issuer: z.string().min(1).max(2_048).optional(),
});
export type OpenIdProviderSettings = z.infer<typeof openIdProvider>;
export type PlainProviderSettings = z.infer<typeof plainProvider>;
export type OAuthProviderSettings = OpenIdProviderSettings | PlainProviderSettings;

/** An OpenID Connect issuer; or, with `authorizationEndpoint`, a provider of plain OAuth 2. */
export const oauthProviderSettings = z.looseObject({}).transform((given, context): OAuthProviderSettings => {
  const schema = 'authorizationEndpoint' in given ? plainProvider : openIdProvider;
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

/** Whether somebody between here and the provider could listen in. */
export const isInsecure = (settings: OAuthProviderSettings): boolean =>
  endpointsOf(settings).some((url) => new URL(url).protocol !== 'https:');

const endpointsOf = (settings: OAuthProviderSettings): string[] =>
  'authorizationEndpoint' in settings
    ? [settings.authorizationEndpoint, settings.tokenEndpoint, settings.userInfoEndpoint]
    : [settings.issuer];
