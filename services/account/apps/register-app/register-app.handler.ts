import { appStream, type SignatureScheme } from '../../../../schemas/events/account/app-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { apiKeyFrom, registerApp } from '../domain/app.ts';
import { appFold, appIdOf } from '../../../../shared/auth/app.ts';
import { checkRedirectUri, normaliseOrigin, type AddressOptions } from '../domain/app-addresses.ts';
import { newSigningKey, signerOf } from '../app-signing-key.ts';

const NAME_CHARACTERS_MAX = 50;

export interface AppToRegister {
  name: string;
  origins: string[];
  redirectUris: string[];
  scheme: SignatureScheme;
  /** Whether it belongs to a third party: its sessions may do less. */
  isThirdParty?: boolean;
}

/** Shown once by `annals app create`: the signing key is not stored. */
export interface RegisteredApp extends AppToRegister {
  id: string;
  apiKey: string;
  signingKey: string;
}

/** Registers an app with new keys, for an operator. @throws Refusal validation_failed */
export const createApp = async (
  transactor: Transactor,
  app: AppToRegister,
  { metadata, ...options }: AddressOptions & { metadata: EventMetadata },
): Promise<RegisteredApp> => {
  const name = app.name.trim();
  if (name === '' || name.length > NAME_CHARACTERS_MAX)
    throw new Refusal('validation_failed', 'name must have 1 to 50 characters');
  if (app.origins.length === 0) throw new Refusal('validation_failed', 'an app must have at least one origin');
  const apiKey = apiKeyFrom(transactor.ids.token(32));
  const signingKey = newSigningKey(transactor.ids);
  const registration = {
    id: appIdOf(apiKey),
    name,
    apiKey,
    origins: [...new Set(app.origins.map((origin) => normaliseOrigin(origin, options)))],
    redirectUris: [...new Set(app.redirectUris.map((uri) => checkRedirectUri(uri, options)))],
    scheme: app.scheme,
    isThirdParty: app.isThirdParty ?? false,
  };
  await transactor.transact({
    stream: appStream(registration.id),
    fold: appFold,
    metadata,
    decide: (state) => registerApp(state, { ...registration, signer: signerOf(signingKey) }),
  });
  const { isThirdParty, ...shown } = registration;
  return { ...shown, signingKey, ...(isThirdParty && { isThirdParty }) };
};
