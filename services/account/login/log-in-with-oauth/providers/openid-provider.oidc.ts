import { buildAuthorizationUrl, customFetch, discovery, type Configuration } from 'openid-client';
import { isInsecure, type OpenIdProviderSettings } from '../../../../../shared/config/oauth-settings.ts';
import { unavailable } from '../../../../../shared/errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../../../../../shared/primitives/waiting/within-deadline.ts';
import { signClientSecret } from './client-secret-token.ts';
import { hasNonce, IdTokens } from './id-tokens.jose.ts';
import type { IdentityProvider, IdToken, LoginSecrets, ProviderIdentity, ReturnedLogin } from './identity-provider.ts';
import { isKnown, OPENID_CLAIMS, personOf } from './provider-claims.ts';
import { ProviderFault } from './provider-fault.ts';
import { isOwnAddress } from './provider-fetch.ts';
import {
  allowHttp,
  answered,
  askUserInfo,
  authorization,
  clientAuthentication,
  exchangeCode,
  failureOf,
  fetchFor,
  userInfoRefused,
  type ProviderOptions,
} from './provider-requests.oidc.ts';

/** A provider that moved an endpoint is asked anew after so long. */
const DISCOVERED_MS = 3_600_000;
const DEFAULT_SCOPES = 'openid email profile';
/** Of a provider that does not say what signs its id tokens (OpenID Connect Discovery). */
const DEFAULT_ALGORITHMS = ['RS256'];

/** What a provider said of itself. */
interface Discovered {
  configuration: Configuration;
  idTokens: IdTokens;
}

/** An OpenID Connect provider: it publishes its endpoints and keys by discovery, and signs id tokens. */
export class OpenIdProvider implements IdentityProvider {
  private discovered: { answer: Promise<Discovered>; until: number } | undefined;

  constructor(
    private readonly settings: OpenIdProviderSettings,
    private readonly options: ProviderOptions,
  ) {}

  async loginUrl({ nonce, ...login }: LoginSecrets & { state: string; redirectUri: string }): Promise<string> {
    const { scopes = DEFAULT_SCOPES, nonce: hasNonces = true } = this.settings;
    const scope = [...new Set(['openid', ...scopes.split(' ')])].join(' ');
    const { configuration } = await this.within(this.discover()).catch((error: unknown) => {
      // What is wrong here is wrong for everyone, and nothing that the caller can mend.
      const failure = failureOf(error);
      this.options.failures.loginFailed(this.options.name, failure);
      throw unavailable(`the login provider cannot be used now: ${failure.said}`, error);
    });
    const parameters = { ...authorization(this.settings, login), scope, ...(hasNonces && { nonce }) };
    return buildAuthorizationUrl(configuration, parameters).href;
  }

  identify(login: ReturnedLogin): Promise<ProviderIdentity> {
    const { clock, limits } = this.options;
    const endMs = clock.elapsed() + limits.answerMs;
    const identify = async () => {
      const { claims, token, configuration } = await this.within(this.prove(login));
      const asked = { configuration, token, subject: claims.sub, leftMs: endMs - clock.elapsed() };
      const more = isKnown(claims, this.paths) ? {} : await this.askMore(asked);
      return this.personOf({ ...more, ...claims });
    };
    return answered(this.options, identify());
  }

  verify({ idToken, nonce }: IdToken): Promise<{ person: ProviderIdentity; expiresAt: number }> {
    const { clientId, audiences = [] } = this.settings;
    const verify = async () => {
      const { idTokens } = await this.discover();
      const nowMs = this.options.clock.now();
      const { claims, expiresAt } = await idTokens.verify(idToken, { audiences: [clientId, ...audiences], nowMs });
      if (nonce !== undefined && !hasNonce(claims, nonce)) throw ofAnotherLogin();
      return { person: this.personOf(claims), expiresAt };
    };
    return answered(this.options, this.within(verify()));
  }

  private async prove(login: ReturnedLogin) {
    const { configuration, idTokens } = await this.discover();
    if (login.iss !== undefined && login.iss !== configuration.serverMetadata().issuer) {
      throw new ProviderFault('issuer_refused', 'the answer is of another issuer');
    }
    const { access_token: token, id_token: idToken } = await exchangeCode(configuration, login, this.settings);
    if (idToken === undefined) throw new ProviderFault('id_token_refused', 'there is no id token');
    const nowMs = this.options.clock.now();
    const { claims } = await idTokens.verify(idToken, { audiences: [this.settings.clientId], nowMs });
    if ((this.settings.nonce ?? true) && claims.nonce !== login.nonce) throw ofAnotherLogin();
    return { claims, token, configuration };
  }

  /** Returns what the user-info says besides. It proves nothing, so its failure fails no login. */
  private async askMore({
    configuration,
    token,
    subject,
    leftMs,
  }: {
    configuration: Configuration;
    token: string;
    subject: unknown;
    leftMs: number;
  }): Promise<object> {
    const { userinfo_endpoint: address } = configuration.serverMetadata();
    if (address === undefined) return {};
    try {
      if (leftMs <= 0) throw new DeadlineExceeded('there was no time left for its user-info');
      const asked = askUserInfo(configuration, token, address);
      const said = await withinDeadline('its user-info', Math.min(leftMs, this.options.limits.userInfoMs), asked);
      if (said['sub'] !== subject) throw userInfoRefused('is of somebody else');
      return said;
    } catch (error) {
      this.options.failures.userInfoFailed(this.options.name, failureOf(error));
      return {};
    }
  }

  private personOf(said: { iss?: unknown; sub?: unknown }): ProviderIdentity {
    return personOf({ issuer: String(said.iss), subject: said.sub, said, paths: this.paths }, this.options);
  }

  private get paths() {
    return this.settings.claims ?? OPENID_CLAIMS;
  }

  private within<Answer>(answer: Promise<Answer>): Promise<Answer> {
    return withinDeadline('the login provider', this.options.limits.answerMs, answer);
  }

  private discover(): Promise<Discovered> {
    const now = this.options.clock.elapsed();
    if (!this.discovered || this.discovered.until <= now) {
      const answer = this.askForItself();
      this.discovered = { answer, until: now + DISCOVERED_MS };
      answer.catch(() => {
        this.discovered = undefined;
      });
    }
    return this.discovered.answer;
  }

  private async askForItself(): Promise<Discovered> {
    const { clientId, idTokenAlg } = this.settings;
    const { requestMs } = this.options.limits;
    const issuer = new URL(this.settings.issuer);
    const isAllowed = (url: URL) => isOwnAddress(url, issuer);
    const ask = fetchFor(isAllowed, ['access_token', 'id_token']);
    const metadata = idTokenAlg === undefined ? undefined : { id_token_signed_response_alg: idTokenAlg };
    const configuration = await discovery(issuer, clientId, metadata, this.authentication(), {
      [customFetch]: ask,
      timeout: requestMs / 1_000,
      execute: isInsecure(this.settings) ? [allowHttp] : [],
    });
    const server = configuration.serverMetadata();
    const { authorization_endpoint: loginAddress = '', jwks_uri: keysAddress = '' } = server;
    if (!URL.canParse(loginAddress) || !isAllowed(new URL(loginAddress))) {
      throw new ProviderFault('address_refused', 'its authorization endpoint is not an address that it may name');
    }
    if (!URL.canParse(keysAddress)) throw new ProviderFault('address_refused', 'its keys have no address');
    const { algorithms, secret } = this.accepted(server.id_token_signing_alg_values_supported ?? DEFAULT_ALGORITHMS);
    const idTokens = new IdTokens({
      issuer: server.issuer,
      keysUrl: new URL(keysAddress),
      algorithms,
      secret,
      fetch: (url, { headers, signal }) =>
        ask(url, { headers: Object.fromEntries(headers), method: 'GET', signal, body: null, redirect: 'manual' }),
      timeoutMs: requestMs,
    });
    return { configuration, idTokens };
  }

  /**
   * What signs id tokens. A secret does only if the settings say so; the provider's own libraries in apps may then still give
   * tokens that its keys signed, as LINE's do.
   */
  private accepted(supported: readonly string[]) {
    const { idTokenAlg, clientSecret } = this.settings;
    const byKeys = supported.filter((algorithm) => algorithm !== 'none' && !algorithm.startsWith('HS'));
    if (idTokenAlg === undefined) return { algorithms: byKeys, secret: undefined };
    if (!idTokenAlg.startsWith('HS') || typeof clientSecret !== 'string') {
      return { algorithms: [idTokenAlg], secret: undefined };
    }
    return { algorithms: [idTokenAlg, ...byKeys], secret: Buffer.from(clientSecret) };
  }

  private authentication() {
    const { issuer, clientId, clientSecret, authentication } = this.settings;
    if (typeof clientSecret === 'string') return clientAuthentication(authentication ?? 'basic', () => clientSecret);
    return clientAuthentication(authentication ?? 'post', () =>
      signClientSecret(clientSecret, { issuer, clientId, nowMs: this.options.clock.now() }),
    );
  }
}

const ofAnotherLogin = () => new ProviderFault('id_token_refused', 'the id token is of another login');
