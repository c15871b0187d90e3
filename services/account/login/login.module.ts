import type { ModuleMetadata } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { rateLimits } from '../../../schemas/http/rate-limits.ts';
import type { Apps } from '../../../shared/auth/apps.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { serveMailbox } from '../edge/mailbox-page.ts';
import type { Channels } from '../messages/channels.module.ts';
import type { SessionTokens } from '../sessions/session-tokens.jose.ts';
import type { RequestLimit } from './domain/one-time-password.ts';
import { IdentityIds } from './identity-ids.ts';
import { serveMessenger } from './log-in-with-bot/development-messenger.http.ts';
import type { LoginNeeds } from './login-method.module.ts';
import { openLoginMethods } from './login-methods.module.ts';
import type { ProviderLimits } from './log-in-with-oauth/providers/identity-provider.ts';
import { LoginStates } from './login-states.ts';
import { Logins, type AccountAssignment } from './logins.ts';
import { OneTimePasswordLogins, type RequestLimits } from './one-time-passwords.ts';
import { PasswordHashes, type PasswordOptions } from './password-hashes.ts';
import { UnlinkIdentityHandler } from './unlink-identity/unlink-identity.handler.ts';
import { UnlinkIdentityHttp } from './unlink-identity/unlink-identity.http.ts';
import { Unlinkings } from './unlink-identity/unlinkings.ts';

export type { PasswordOptions, ProviderLimits };

interface LoginOptions extends Omit<LoginNeeds, 'identityIds' | 'states'> {
  tokens: SessionTokens;
  keys: VaultKeys;
  apps: Apps;
  accounts: AccountAssignment;
  passwordOptions: PasswordOptions | undefined;
}

/** Logins by every method, and the identities that people log in with. */
export const openLogin = async ({ keys, apps, accounts, tokens, passwordOptions, ...rest }: LoginOptions) => {
  const { foundation, transactor } = rest;
  const { masterKey, settings } = foundation;
  const identityIds = new IdentityIds(await keys.identitiesKey());
  const states = new LoginStates(transactor, masterKey);
  const logins = new Logins(transactor, tokens, accounts, apps);
  const hashes = new PasswordHashes(masterKey, passwordOptions);
  const passwords = new OneTimePasswordLogins(transactor, logins, identityIds, hashes, requestLimitsOf(settings));
  const methods = openLoginMethods({ ...rest, identityIds, states });
  const unlinkings = new Unlinkings(transactor);
  return {
    unlinkings,
    measured: methods.measured,
    controllers: [...methods.controllers, UnlinkIdentityHttp],
    providers: [
      ...methods.providers,
      { provide: IdentityIds, useValue: identityIds },
      { provide: Logins, useValue: logins },
      { provide: LoginStates, useValue: states },
      { provide: OneTimePasswordLogins, useValue: passwords },
      { provide: PasswordHashes, useValue: hashes },
      { provide: Unlinkings, useValue: unlinkings },
      UnlinkIdentityHandler,
    ],
  } satisfies ModuleMetadata & Record<string, unknown>;
};

const requestLimitsOf = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): RequestLimits => {
  if (RATE_LIMITS === 'off') return { app: [], all: undefined };
  const limit = (name: RequestLimit['name']) => ({ name, ...(RATE_LIMITS[name] ?? rateLimits[name]) });
  return { app: [limit('otpRequest'), limit('otpRequestDay')], all: limit('otpRequestAll') };
};

/** Serves what a development start would have sent to people, and its stand-in for the messenger. */
export const serveDevelopmentMessages =
  ({ mailbox, messenger }: Channels) =>
  (app: NestFastifyApplication): void => {
    if (mailbox) serveMailbox(mailbox.messages)(app);
    if (messenger && messenger === mailbox?.messenger) serveMessenger(app);
  };
