import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { IdentityIds } from '../identity-ids.ts';
import { Logins, type LoggedIn, type LoginRequest } from '../logins.ts';
import { useOnce } from '../use-once.ts';
import { providerNotFound, providerOf } from './provider-of.ts';
import { IDENTITY_PROVIDERS, type IdentityProviders } from './providers/identity-provider.ts';

/** Logs in with an id token that a provider's own library was given in an app, or links the person whom it names. */
export class LogInWithIdToken extends Command<LoggedIn> {
  constructor(
    readonly login: LoginRequest & { provider: string; idToken: string; nonce: string | undefined },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(LogInWithIdToken)
export class LogInWithIdTokenHandler implements ICommandHandler<LogInWithIdToken> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly identityIds: IdentityIds,
    @Inject(IDENTITY_PROVIDERS) private readonly providers: IdentityProviders,
  ) {}

  async execute({ login, metadata }: LogInWithIdToken): Promise<LoggedIn> {
    const { appId, idToken, nonce, device, user } = login;
    const { method, provider } = providerOf(this.providers, login.provider);
    if (!provider.verify) throw providerNotFound();
    const { person, expiresAt } = await provider.verify({ idToken, nonce }).catch(async (error: unknown) => {
      // Whose session is too old to link hears that first, as at every login that links.
      if (user) await this.logins.requireMayChangeLogins(user);
      throw error;
    });
    const identity = { identityId: this.identityIds.providerIdentity(person), method, label: person.label };
    const wish = await this.logins.wish(user, [identity]);
    const keptSeconds = Math.ceil((expiresAt - this.transactor.clock.now()) / 1_000);
    const proof = { text: `id token\n${signedPart(idToken)}`, keptSeconds };
    const redemption = await useOnce(this.transactor, proof, { appId, wish, used }, metadata);
    return this.logins.complete({ identity, redemption, appId, device, profile: person.profile }, metadata);
  }
}

/** Without the signature, which the same token may have in several forms. */
const signedPart = (idToken: string): string => idToken.slice(0, idToken.lastIndexOf('.'));

const used = (): Refusal =>
  new Refusal('request_replayed', 'an id token logs in once: ask the provider for another one');
