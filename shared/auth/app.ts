import type { AppEvent, SignatureScheme, SponsorshipPolicy } from '../../schemas/events/account/app-events.ts';
import { Refusal } from '../errors/refusal.ts';
import { encodeToken, sha256 } from '../primitives/ids.ts';

/** The id follows from the key, so that one stream read finds the app of a key. */
export const appIdOf = (apiKey: string): string => `app_${encodeToken(Buffer.from(sha256(apiKey), 'hex'), 26)}`;

/** An app as its events tell it. The account service decides how it changes. */
export interface App {
  id: string;
  name: string;
  apiKey: string;
  /** Addresses of the signing keys that are valid, the newest first: two once the key was rotated. */
  signers: readonly string[];
  /** Addresses of the server keys that are valid, the newest first: two at most. */
  serverSigners: readonly string[];
  /** Normalised, as browsers send them. */
  origins: readonly string[];
  redirectUris: readonly string[];
  scheme: SignatureScheme;
  /** Whether it is somebody else's: its sessions may do less. */
  isThirdParty: boolean;
  /** Whether it may log in messenger users on the word of its own bot. */
  allowsBot: boolean;
  /** The RP id of its passkeys; `undefined`: each origin's hostname. */
  rpId: string | undefined;
  /** What it pays for, by chain id. */
  policies: Readonly<Record<number, SponsorshipPolicy>>;
  /** A revoked app never changes again, and nobody calls on its behalf. */
  isRevoked: boolean;
}

export const appFold = {
  initial: undefined as App | undefined,
  evolve: (app: App | undefined, { type, data }: AppEvent): App | undefined => {
    if (type === 'AppRegistered') {
      const { appId: id, signer, ...registered } = data;
      const nothingAllowed = { serverSigners: [], allowsBot: false, rpId: undefined, policies: {}, isRevoked: false };
      return { id, ...registered, signers: [signer], ...nothingAllowed };
    }
    if (!app) return undefined;
    switch (type) {
      case 'AppKeyRotated':
        return { ...app, signers: [data.signer, ...app.signers.slice(0, 1)] };
      case 'AppServerKeyCreated':
        return { ...app, serverSigners: [data.signer, ...app.serverSigners] };
      case 'AppServerKeyRevoked':
        return { ...app, serverSigners: app.serverSigners.filter((signer) => signer !== data.signer) };
      case 'AppOriginAllowed':
        return { ...app, origins: [...app.origins, data.origin] };
      case 'AppRedirectAllowed':
        return { ...app, redirectUris: [...app.redirectUris, data.redirectUri] };
      case 'AppTrusted':
        return { ...app, isThirdParty: false };
      case 'AppDistrusted':
        return { ...app, isThirdParty: true };
      case 'AppBotAllowed':
        return { ...app, allowsBot: true };
      case 'AppRpIdSet':
        return { ...app, rpId: data.rpId };
      case 'AppPolicyChanged': {
        const { [data.chainId]: _before, ...others } = app.policies;
        return { ...app, policies: data.policy ? { ...others, [data.chainId]: data.policy } : others };
      }
      case 'AppRevoked':
        return { ...app, isRevoked: true };
    }
  },
};

/** @throws Refusal validation_failed */
export const registeredApp = (app: App | undefined): App => {
  if (!app) throw new Refusal('validation_failed', 'no app has this id: annals app list shows every app');
  return app;
};

/** @throws Refusal app_revoked */
export const liveApp = (app: App | undefined): App => {
  const registered = registeredApp(app);
  if (registered.isRevoked) throw new Refusal('app_revoked', 'the app was revoked: register another');
  return registered;
};
