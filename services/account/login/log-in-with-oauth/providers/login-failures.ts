import type { Logger } from 'pino';
import type { OAuthProvider } from '../../../../schemas/http/oauth-routes.ts';
import type { Measured } from '../../../../shared/host/measure.ts';
import type { ProviderFailure } from './provider-fault.ts';

/** Tells the operator why logins at providers fail. Callers hear the provider's code at most. */
export class LoginFailures {
  private readonly counts = new Map<string, { labels: Record<string, string>; value: number }>();

  readonly measured: Measured = {
    name: 'annals_login_provider_failures_total',
    help: 'What failed at login providers, by provider and reason.',
    labelNames: ['provider', 'reason'],
    isCounter: true,
    read: () => Promise.resolve([...this.counts.values()]),
  };

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
    const key = `${provider} ${reason}`;
    const value = (this.counts.get(key)?.value ?? 0) + 1;
    this.counts.set(key, { labels: { provider, reason }, value });
  }
}
