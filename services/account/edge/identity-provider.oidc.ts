import { createHash } from 'node:crypto';
import {
  allowInsecureRequests,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchProtectedResource,
  fetchUserInfo,
  genericGrantRequest,
  ResponseBodyError,
  type CustomFetch,
} from 'openid-client';
import {
  isInsecure,
  type OAuthProviderSettings,
  type OpenIdProviderSettings,
  type PlainProviderSettings,
} from '../../../shared/config/oauth-settings.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { nodeErrorCode } from '../../../shared/errors/node-error-code.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/within-deadline.ts';
import { labelOf, subjectOf } from './provider-claims.ts';
import type { IdentityProvider, IdentityProviders, LoginSecrets, ProviderIdentity } from './identity-provider.ts';
import { isOwnAddress, ProviderAway, providerFetch } from './provider-fetch.ts';

/** Of one request to a provider. */
const REQUEST_SECONDS = 3;
/** Of all that one answer of ours needs. */
const ANSWER_WITHIN_MS = 4_000;
/** A provider that moved an endpoint is asked anew after so long. */
const DISCOVERED_MS = 3_600_000;
const DEFAULT_SCOPES = 'openid email profile';

/** Settings may name a provider on this machine without TLS, outside production. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so to be noticed
const allowHttp: (configuration: Configuration) => void = allowInsecureRequests;

type Asked = LoginSecrets & { code: string; redirectUri: string; iss: string | undefined };

/** Makes the providers that are configured. None is asked anything yet. */
export const openIdentityProviders = (
  { OAUTH_A, OAUTH_B, OAUTH_C }: Pick<Settings, 'OAUTH_A' | 'OAUTH_B' | 'OAUTH_C'>,
  clock: Clock,
): IdentityProviders => ({
  ...(OAUTH_A && { 'oauth-a': openProvider(OAUTH_A, clock) }),
  ...(OAUTH_B && { 'oauth-b': openProvider(OAUTH_B, clock) }),
  ...(OAUTH_C && { 'oauth-c': openProvider(OAUTH_C, clock) }),
});

const openProvider = (settings: OAuthProviderSettings, clock: Clock): IdentityProvider =>
  'authorizationEndpoint' in settings ? new PlainProvider(settings) : new OpenIdProvider(settings, clock);

/** A provider that is asked for its endpoints and keys, and that signs who somebody is. */
class OpenIdProvider implements IdentityProvider {
  private discovered: { configuration: Promise<Configuration>; until: number } | undefined;

  constructor(
    private readonly settings: OpenIdProviderSettings,
    private readonly clock: Clock,
  ) {}

  async loginUrl({ nonce, ...login }: LoginSecrets & { state: string; redirectUri: string }): Promise<string> {
    const { scopes = DEFAULT_SCOPES } = this.settings;
    const scope = [...new Set(['openid', ...scopes.split(' ')])].join(' ');
    // What is wrong here is wrong for everyone, and nothing that the caller can mend.
    const configuration = await answered(this.configuration()).catch((error: unknown) => {
      throw unavailable(`the login provider cannot be used now: ${messageOf(error)}`, error);
    });
    return buildAuthorizationUrl(configuration, { ...authorization(login), scope, nonce }).href;
  }

  identify(login: Asked): Promise<ProviderIdentity> {
    return answered(this.exchange(login));
  }

  private async exchange({ code, redirectUri, verifier, nonce, iss }: Asked): Promise<ProviderIdentity> {
    const configuration = await this.configuration();
    const { issuer, userinfo_endpoint: userInfoEndpoint } = configuration.serverMetadata();
    if (iss !== undefined && iss !== issuer) throw new Error('the answer is of another issuer');
    const tokens = await exchangeCode(configuration, { code, redirectUri, verifier });
    const claims = tokens.claims();
    if (!claims) throw new Error('there is no id token');
    if (claims.nonce !== nonce) throw new Error('the id token is of another login');
    const label =
      labelOf(claims) ??
      (userInfoEndpoint === undefined
        ? undefined
        : labelOf(await fetchUserInfo(configuration, tokens.access_token, claims.sub)));
    return { issuer: claims.iss, subject: claims.sub, label: label ?? claims.sub };
  }

  private configuration(): Promise<Configuration> {
    const now = this.clock.elapsed();
    if (!this.discovered || this.discovered.until <= now) {
      const configuration = this.discover();
      this.discovered = { configuration, until: now + DISCOVERED_MS };
      configuration.catch(() => {
        this.discovered = undefined;
      });
    }
    return this.discovered.configuration;
  }

  private async discover(): Promise<Configuration> {
    const { clientId, clientSecret, authentication } = this.settings;
    const issuer = new URL(this.settings.issuer);
    const isAllowed = (url: URL) => isOwnAddress(url, issuer);
    const secret = authentication === 'post' ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret);
    const configuration = await discovery(issuer, clientId, undefined, secret, {
      [customFetch]: fetchFor(isAllowed),
      timeout: REQUEST_SECONDS,
      execute: [enableNonRepudiationChecks, ...(isInsecure(this.settings) ? [allowHttp] : [])],
    });
    const { authorization_endpoint: loginAddress = '' } = configuration.serverMetadata();
    if (!URL.canParse(loginAddress) || !isAllowed(new URL(loginAddress))) {
      throw new Error('its authorization endpoint is not an address that it may name');
    }
    return configuration;
  }
}

/** A provider that says who somebody is only to whoever has a token of theirs. */
class PlainProvider implements IdentityProvider {
  private readonly configuration: Configuration;
  private readonly issuer: string;

  constructor(private readonly settings: PlainProviderSettings) {
    const { authorizationEndpoint, tokenEndpoint, userInfoEndpoint, clientId, clientSecret, authentication } = settings;
    this.issuer = settings.issuer ?? new URL(userInfoEndpoint).origin;
    const endpoints = [authorizationEndpoint, tokenEndpoint, userInfoEndpoint];
    const origins = new Set(endpoints.map((url) => new URL(url).origin));
    this.configuration = new Configuration(
      { issuer: this.issuer, authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint },
      clientId,
      undefined,
      authentication === 'post' ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret),
    );
    this.configuration[customFetch] = fetchFor(({ origin }) => origins.has(origin));
    this.configuration.timeout = REQUEST_SECONDS;
    if (isInsecure(settings)) allowHttp(this.configuration);
  }

  loginUrl(login: LoginSecrets & { state: string; redirectUri: string }): Promise<string> {
    const { scopes } = this.settings;
    const parameters = { ...authorization(login), ...(scopes !== undefined && { scope: scopes }) };
    return Promise.resolve(buildAuthorizationUrl(this.configuration, parameters).href);
  }

  identify(login: Asked): Promise<ProviderIdentity> {
    return answered(this.exchange(login));
  }

  private async exchange({ code, redirectUri, verifier, iss }: Asked): Promise<ProviderIdentity> {
    if (iss !== undefined && iss !== this.issuer) throw new Error('the answer is of another issuer');
    const { access_token: token } = await exchangeCode(this.configuration, { code, redirectUri, verifier });
    const { userInfoEndpoint, subject: subjectPath, claims = {} } = this.settings;
    const headers = new Headers({ accept: 'application/json' });
    const address = new URL(userInfoEndpoint);
    const answer = await fetchProtectedResource(this.configuration, token, address, 'GET', undefined, headers);
    if (answer.status !== 200) throw new Error(`its user-info answered ${String(answer.status)}`);
    const userInfo: unknown = await answer.json();
    const subject = subjectOf(userInfo, subjectPath);
    if (subject === undefined) throw new Error('its user-info does not say who it is');
    return { issuer: this.issuer, subject, label: labelOf(userInfo, claims) ?? subject };
  }
}

const authorization = ({ verifier, state, redirectUri }: { verifier: string; state: string; redirectUri: string }) => ({
  redirect_uri: redirectUri,
  state,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
});

/** By the general request, because the one for codes removes the query of a redirect URI. */
const exchangeCode = (
  configuration: Configuration,
  { code, redirectUri, verifier }: { code: string; redirectUri: string; verifier: string },
) =>
  genericGrantRequest(configuration, 'authorization_code', {
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });

const fetchFor = (isAllowed: (url: URL) => boolean): CustomFetch => {
  const ask = providerFetch(isAllowed);
  return (url, { body, headers, method, signal }) =>
    ask(url, {
      headers,
      method,
      ...(body != null && { body: body as NonNullable<RequestInit['body']> }),
      ...(signal && { signal }),
    });
};

/** Waits for a provider, and turns its faults into refusals. */
const answered = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
  try {
    return await withinDeadline('the login provider', ANSWER_WITHIN_MS, answer);
  } catch (error) {
    if (isAway(error)) throw unavailable('the login provider does not answer', error);
    throw new Refusal('oauth_failed', `the login provider did not confirm who this is: ${messageOf(error)}`, {
      cause: error,
    });
  }
};

const isAway = (error: unknown): boolean => {
  if (error instanceof ProviderAway || error instanceof DeadlineExceeded) return true;
  return error instanceof Error && error.cause !== undefined && isAway(error.cause);
};

/** Never what the provider answered, but for its code: an answer may hold tokens and personal data. */
const messageOf = (error: unknown): string => {
  if (error instanceof ResponseBodyError) return /^[\w.:-]{1,64}$/.test(error.error) ? error.error : 'an unknown error';
  if (!(error instanceof Error)) return 'an unknown error';
  return nodeErrorCode(error) ?? error.message;
};
