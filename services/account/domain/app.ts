import type { AppEvent, SignatureScheme } from '../../../schemas/events/app-events.ts';
import { encodeToken, sha256 } from '../../../shared/primitives/ids.ts';

export const apiKeyFrom = (token32: string): string => `ak_${token32}`;

/** The id follows from the key, so that one stream read finds the app of a key. */
export const appIdOf = (apiKey: string): string => `app_${encodeToken(Buffer.from(sha256(apiKey), 'hex'), 26)}`;
export const appStream = (appId: string): string => `app-${appId}`;

export interface App {
  id: string;
  name: string;
  apiKey: string;
  /** Address of the signing key. */
  signer: string;
  /** Normalised, as browsers send them. */
  origins: readonly string[];
  redirectUris: readonly string[];
  scheme: SignatureScheme;
}

type State = App | undefined;

export const appFold = {
  initial: undefined as State,
  evolve: (_app: State, { data: { appId, ...app } }: AppEvent): State => ({ id: appId, ...app }),
};

export const registerApp = (app: State, { id, ...registration }: App): AppEvent[] => {
  if (app) return [];
  const { redirectUris, origins, ...rest } = registration;
  return [
    { type: 'AppRegistered', data: { appId: id, ...rest, origins: [...origins], redirectUris: [...redirectUris] } },
  ];
};
