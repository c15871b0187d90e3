import { createHash } from 'node:crypto';
import {
  allowInsecureRequests,
  ClientError,
  ClientSecretPost,
  fetchProtectedResource,
  genericGrantRequest,
  ResponseBodyError,
  type ClientAuth,
  type Configuration,
  type CustomFetch,
} from 'openid-client';
import type { OAuthProvider } from '../../../../../schemas/http/account/oauth-routes.ts';
import type { OAuthProviderSettings } from '../../../../../shared/config/oauth-settings.ts';
import { Refusal, unavailable } from '../../../../../shared/errors/refusal.ts';
import type { Clock } from '../../../../../shared/primitives/clock.ts';
import { DeadlineExceeded } from '../../../../../shared/primitives/waiting/within-deadline.ts';
import type { LoginSecrets, ProviderLimits, ReturnedLogin } from './identity-provider.ts';
import type { LoginFailures } from './login-failures.ts';
import { failureByCode, ProviderFault, type ProviderFailure } from './provider-fault.ts';
import { ProviderAway, providerFetch } from './provider-fetch.ts';
import { conformAnswer, parseObject } from './token-answers.ts';

export interface ProviderOptions {
  name: OAuthProvider;
  clock: Clock;
  failures: LoginFailures;
  limits: ProviderLimits;
  /** Of URLs that a profile may have. */
  allowLocalHttp: boolean;
}

/** Settings may name a provider on this machine without TLS, outside production. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so to be noticed
export const allowHttp: (configuration: Configuration) => void = allowInsecureRequests;

/**
 * How the client says who it is, with a secret that may be another one each time. The header is written here, because the
 * library escapes `-`, `_` and `.` in it too, which form encoding leaves, and many providers do not decode it.
 */
export const clientAuthentication =
  (method: 'basic' | 'post', secretNow: () => string): ClientAuth =>
  (server, client, body, headers) => {
    if (method === 'post') ClientSecretPost(secretNow())(server, client, body, headers);
    else {
      const credentials = [client.client_id, secretNow()].map(formEncoded).join(':');
      headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
    }
  };

const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);

type Departure = Pick<LoginSecrets, 'verifier'> & { state: string; redirectUri: string };

/** Returns the parameters of the login page that every login has, and those of the settings. */
export const authorization = (
  { parameters, pkce = true }: OAuthProviderSettings,
  { verifier, state, redirectUri }: Departure,
): Record<string, string> => ({
  ...parameters,
  redirect_uri: redirectUri,
  state,
  ...(pkce && {
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }),
});

/** By the general request, because the one for codes removes the query of a redirect URI. */
export const exchangeCode = (
  configuration: Configuration,
  { code, redirectUri, verifier }: Pick<ReturnedLogin, 'code' | 'redirectUri' | 'verifier'>,
  { pkce = true }: OAuthProviderSettings,
) =>
  genericGrantRequest(configuration, 'authorization_code', {
    code,
    redirect_uri: redirectUri,
    ...(pkce && { code_verifier: verifier }),
  });

/** Returns what a provider says to whoever has a token of theirs. @throws ProviderFault, which quotes nothing of it */
export const askUserInfo = async (
  configuration: Configuration,
  token: string,
  address: string,
): Promise<Record<string, unknown>> => {
  const headers = new Headers({ accept: 'application/json' });
  const answer = await fetchProtectedResource(configuration, token, new URL(address), 'GET', undefined, headers);
  if (answer.status !== 200) throw userInfoRefused(`answered ${String(answer.status)}`);
  const said = parseObject(await answer.text());
  if (!said) throw userInfoRefused('is not a JSON object');
  return said;
};

export const userInfoRefused = (why: string) => new ProviderFault('user_info_refused', `its user-info ${why}`);

/** @param tokens the members of a token answer that are used */
export const fetchFor = (isAllowed: (url: URL) => boolean, tokens: readonly string[]): CustomFetch => {
  const ask = providerFetch(isAllowed);
  return async (url, { body, headers, method, signal }) => {
    const answer = await ask(url, {
      headers,
      method,
      ...(body != null && { body: body as NonNullable<RequestInit['body']> }),
      ...(signal && { signal }),
    });
    return method === 'POST' ? conformAnswer(answer, tokens) : answer;
  };
};

/** Waits for a provider, reports its faults and turns them into refusals. */
export const answered = async <Answer>(
  { name, failures }: Pick<ProviderOptions, 'name' | 'failures'>,
  answer: Promise<Answer>,
): Promise<Answer> => {
  try {
    return await answer;
  } catch (error) {
    const failure = failureOf(error);
    failures.loginFailed(name, failure);
    if (failure.reason === 'away') throw unavailable('the login provider does not answer', error);
    throw new Refusal('oauth_failed', `the login provider did not confirm who this is: ${failure.said}`, {
      cause: error,
    });
  }
};

/** Never what the provider answered, but for its code: an answer may hold tokens and personal data. */
export const failureOf = (error: unknown): ProviderFailure => {
  if (error instanceof ResponseBodyError) return failureByCode(error.error);
  const cause = causeOf(error);
  if (cause instanceof ProviderFault) {
    const detail = typeof cause.cause === 'string' ? { detail: cause.cause } : {};
    return { reason: cause.reason, said: cause.message, ...detail };
  }
  if (cause) return { reason: 'away', said: 'it does not answer', detail: cause.message };
  if (error instanceof ClientError) {
    return { reason: 'answer_refused', said: 'its answer is not what OAuth 2 has there', detail: sentenceOf(error) };
  }
  return { reason: 'unexpected', said: 'an unknown error', detail: error instanceof Error ? error.name : typeof error };
};

/** Returns our own error, which the library may have wrapped. */
const causeOf = (error: unknown): ProviderFault | ProviderAway | DeadlineExceeded | undefined => {
  if (error instanceof ProviderFault || error instanceof ProviderAway || error instanceof DeadlineExceeded)
    return error;
  return error instanceof Error && error.cause !== undefined ? causeOf(error.cause) : undefined;
};

/** The library's sentences name what is wrong, and quote nothing. */
const sentenceOf = ({ message, cause }: ClientError): string => {
  if (cause instanceof Response) return `${message}: ${String(cause.status)}`;
  return cause instanceof Error && /^(OperationProcessing|UnsupportedOperation)Error$/.test(cause.name)
    ? cause.message
    : message;
};
