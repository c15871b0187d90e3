import { buildAuthorizationUrl, Configuration, customFetch } from 'openid-client';
import { isInsecure, type PlainProviderSettings } from '../../../../../shared/config/oauth-settings.ts';
import { withinDeadline } from '../../../../../shared/primitives/waiting/within-deadline.ts';
import type { IdentityProvider, LoginSecrets, ProviderIdentity, ReturnedLogin } from './identity-provider.ts';
import { personOf, subjectAt } from './provider-claims.ts';
import { ProviderFault } from './provider-fault.ts';
import {
  allowHttp,
  answered,
  askUserInfo,
  authorization,
  clientAuthentication,
  exchangeCode,
  fetchFor,
  type ProviderOptions,
} from './provider-requests.oidc.ts';

/** A provider that says who somebody is only to whoever has a token of theirs. */
export class PlainProvider implements IdentityProvider {
  private readonly configuration: Configuration;
  private readonly issuer: string;

  constructor(
    private readonly settings: PlainProviderSettings,
    private readonly options: ProviderOptions,
  ) {
    const { authorizationEndpoint, tokenEndpoint, userInfoEndpoint, clientId, clientSecret } = settings;
    this.issuer = settings.issuer ?? new URL(userInfoEndpoint).origin;
    const endpoints = [authorizationEndpoint, tokenEndpoint, userInfoEndpoint];
    const origins = new Set(endpoints.map((url) => new URL(url).origin));
    this.configuration = new Configuration(
      { issuer: this.issuer, authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint },
      clientId,
      undefined,
      clientAuthentication(settings.authentication ?? 'basic', () => clientSecret),
    );
    this.configuration[customFetch] = fetchFor(({ origin }) => origins.has(origin), ['access_token']);
    this.configuration.timeout = options.limits.requestMs / 1_000;
    if (isInsecure(settings)) allowHttp(this.configuration);
  }

  loginUrl(login: LoginSecrets & { state: string; redirectUri: string }): Promise<string> {
    const { scopes } = this.settings;
    const parameters = { ...authorization(this.settings, login), ...(scopes !== undefined && { scope: scopes }) };
    return Promise.resolve(buildAuthorizationUrl(this.configuration, parameters).href);
  }

  identify(login: ReturnedLogin): Promise<ProviderIdentity> {
    const { answerMs } = this.options.limits;
    return answered(this.options, withinDeadline('the login provider', answerMs, this.prove(login)));
  }

  private async prove(login: ReturnedLogin): Promise<ProviderIdentity> {
    const { settings, issuer, configuration } = this;
    if (login.iss !== undefined && login.iss !== issuer) {
      throw new ProviderFault('issuer_refused', 'the answer is of another issuer');
    }
    const { access_token: token } = await exchangeCode(configuration, login, settings);
    const said = await askUserInfo(configuration, token, settings.userInfoEndpoint);
    const subject = subjectAt(said, settings.subject);
    return personOf({ issuer, subject, said, paths: settings.claims ?? {} }, this.options);
  }
}
