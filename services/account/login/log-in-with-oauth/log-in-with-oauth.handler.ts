import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { z } from 'zod';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { invalid, Refusal } from '../../../../shared/errors/refusal.ts';
import { sha256 } from '../../../../shared/primitives/ids.ts';
import type { Returning } from '../domain/login-state.ts';
import { IdentityIds } from '../identity-ids.ts';
import {
  IDENTITY_PROVIDERS,
  type IdentityProvider,
  type IdentityProviders,
  type LoginSecrets,
} from './providers/identity-provider.ts';
import { LoginStates, type Proven } from '../login-states.ts';
import { Logins, type LoggedIn, type LoginRequest } from '../logins.ts';
import { providerOf } from './provider-of.ts';
import { LoginFailures } from './providers/login-failures.ts';
import { failureByCode } from './providers/provider-fault.ts';

/** Completes a login with what a provider put into the address to which it sent the browser back. */
export class LogInWithOAuth extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & {
      provider: string;
      state: string;
      code: string;
      /** Empty unless the login was denied. */
      error: string;
      iss: string | undefined;
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

const secretsSchema = z.object({ verifier: z.string(), nonce: z.string() });

@CommandHandler(LogInWithOAuth)
export class LogInWithOAuthHandler implements ICommandHandler<LogInWithOAuth> {
  constructor(
    private readonly logins: Logins,
    private readonly states: LoginStates,
    private readonly identityIds: IdentityIds,
    @Inject(IDENTITY_PROVIDERS) private readonly providers: IdentityProviders,
    private readonly failures: LoginFailures,
  ) {}

  async execute({ login, metadata }: LogInWithOAuth): Promise<LoggedIn> {
    const { appId, origin, state, code, error, device, user } = login;
    const { method, provider } = providerOf(this.providers, login.provider);
    const returning = { method, appId, origin, user };
    if (error !== '') {
      const { said } = failureByCode(error);
      // Anybody can send an error; it is the operator's concern where it ends a login.
      const hasEnded = await this.states.deny(state, returning, metadata);
      if (hasEnded) this.failures.loginFailed(method, { reason: 'denied', said });
      throw new Refusal('oauth_denied', `the provider answered ${said}`);
    }
    requireBoth({ code, state });
    await this.logins.requireStillTrusted(user);
    const proven = await this.prove({ ...login, returning, provider }, metadata);
    return this.logins.complete({ ...proven, appId, device }, metadata);
  }

  /** Returns what the code proves; what it proved before, if it did. */
  private async prove(
    {
      state,
      code,
      iss,
      returning,
      provider,
    }: { state: string; code: string; iss: string | undefined; returning: Returning; provider: IdentityProvider },
    metadata: EventMetadata,
  ): Promise<Proven> {
    const codeHash = sha256(code);
    const received = await this.states.receive(state, returning, codeHash, metadata);
    if ('proven' in received) return received.proven;
    const { exchangeId, redirectUri } = received;
    const secrets: LoginSecrets = secretsSchema.parse(received.secrets);
    const person = await provider.identify({ ...secrets, code, redirectUri, iss }).catch(async (error: unknown) => {
      await this.states.end(state, exchangeId, outcomeOf(error, codeHash), metadata);
      throw error;
    });
    const { method } = returning;
    const { label, profile } = person;
    const identity = { identityId: this.identityIds.providerIdentity(person), method, label };
    return this.states.redeem(state, returning, exchangeId, { codeHash, identity, profile }, metadata);
  }
}

const requireBoth = (given: { code: string; state: string }): void => {
  const missing = Object.entries(given).filter(([, value]) => value === '');
  if (missing.length > 0) throw invalid(...missing.map(([path]) => ({ path, message: 'is missing' })));
};

/** Only a refusal by the provider is final: after any other failure the code can be sent again. */
const outcomeOf = (error: unknown, codeHash: string) =>
  error instanceof Refusal && error.code === 'oauth_failed'
    ? ({ type: 'LoginRefused', data: { code: error.code } } as const)
    : ({ type: 'LoginCodeReturned', data: { codeHash } } as const);
