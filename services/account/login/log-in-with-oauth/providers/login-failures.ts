import type { Logger } from 'pino';
import type { OAuthProvider } from '../../../../../schemas/http/account/oauth-routes.ts';
import { Counted } from '../../../../../shared/host/health/measure.ts';
import type { ProviderFailure } from './provider-fault.ts';

/** Tells the operator why logins at providers fail. Callers hear the provider's code at most. */
export class LoginFailures {
  private readonly failures = new Counted({
    name: 'annals_login_provider_failures_total',
    help: 'What failed at login providers, by provider and reason.',
    labelNames: ['provider', 'reason'],
  });
  readonly measured = this.failures.measured;

  constructor(private readonly logger: Logger) {}

  /** Reports a login that failed. */
  loginFailed(provider: OAuthProvider, failure: ProviderFailure): void {
    this.report(provider, failure, 'a login at a provider failed');
  }

  /** Reports a login that goes on with what is known already. */
  userInfoFailed(provider: OAuthProvider, failure: ProviderFailure): void {
    this.report(provider, failure, 'a provider did not tell more of a person, whose login goes on without it');
  }

  private report(provider: OAuthProvider, { reason, said, detail }: ProviderFailure, message: string): void {
    this.logger.warn({ provider, reason, said, ...(detail !== undefined && { detail }) }, message);
    this.failures.add({ provider, reason });
  }
}
