import type { AppEvent, SignatureScheme, SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { canonicalJson } from '../../../shared/primitives/canonical-json.ts';
import { encodeToken, sha256 } from '../../../shared/primitives/ids.ts';

export const apiKeyFrom = (token32: string): string => `ak_${token32}`;

/** The id follows from the key, so that one stream read finds the app of a key. */
export const appIdOf = (apiKey: string): string => `app_${encodeToken(Buffer.from(sha256(apiKey), 'hex'), 26)}`;

const SERVER_KEYS_MAX = 2;

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
  /** What it pays for, by chain id. */
  policies: Readonly<Record<number, SponsorshipPolicy>>;
  /** A revoked app never changes again, and nobody calls on its behalf. */
  isRevoked: boolean;
}

type State = App | undefined;
type Registration = Omit<App, 'signers' | 'serverSigners' | 'allowsBot' | 'policies' | 'isRevoked'> & {
  signer: string;
};

export const appFold = {
  initial: undefined as State,
  evolve: (app: State, { type, data }: AppEvent): State => {
    if (type === 'AppRegistered') {
      const { appId: id, signer, isThirdParty = false, ...registered } = data;
      const nothingAllowed = { serverSigners: [], allowsBot: false, policies: {}, isRevoked: false };
      return { id, ...registered, isThirdParty, signers: [signer], ...nothingAllowed };
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
      case 'AppPolicyChanged': {
        const { [data.chainId]: _before, ...others } = app.policies;
        return { ...app, policies: data.policy ? { ...others, [data.chainId]: data.policy } : others };
      }
      case 'AppRevoked':
        return { ...app, isRevoked: true };
    }
  },
};

export const registerApp = (app: State, { id, ...registration }: Registration): AppEvent[] => {
  if (app) return [];
  const { redirectUris, origins, isThirdParty, ...rest } = registration;
  const lists = { origins: [...origins], redirectUris: [...redirectUris] };
  const data = { appId: id, ...rest, ...lists, ...(isThirdParty && { isThirdParty }) };
  return [{ type: 'AppRegistered', data }];
};

/** Adds a signing key. The newest one before it stays valid, until the next rotation. */
export const rotateAppKey = (app: State, signer: string): AppEvent[] => {
  const { id, signers } = liveApp(app);
  return signers[0] === signer ? [] : [{ type: 'AppKeyRotated', data: { appId: id, signer } }];
};

/** Adds a server key. The newest one before it stays valid beside it; an older one ends. */
export const createServerKey = (app: State, signer: string): AppEvent[] => {
  const { id, serverSigners } = liveApp(app);
  if (serverSigners[0] === signer) return [];
  const tooOld = serverSigners.slice(SERVER_KEYS_MAX - 1);
  return [
    ...tooOld.map((old) => serverKeyRevoked(id, old)),
    { type: 'AppServerKeyCreated', data: { appId: id, signer } },
  ];
};

/** Ends the server key of this address; without one, every server key. */
export const revokeServerKeys = (app: State, signer?: string): AppEvent[] => {
  const { id, serverSigners } = liveApp(app);
  const ending = serverSigners.filter((one) => signer === undefined || one === signer);
  return ending.map((one) => serverKeyRevoked(id, one));
};

const serverKeyRevoked = (appId: string, signer: string): AppEvent => ({
  type: 'AppServerKeyRevoked',
  data: { appId, signer },
});

export const allowOrigin = (app: State, origin: string): AppEvent[] => {
  const { id, origins } = liveApp(app);
  return origins.includes(origin) ? [] : [{ type: 'AppOriginAllowed', data: { appId: id, origin } }];
};

export const allowRedirect = (app: State, redirectUri: string): AppEvent[] => {
  const { id, redirectUris } = liveApp(app);
  return redirectUris.includes(redirectUri) ? [] : [{ type: 'AppRedirectAllowed', data: { appId: id, redirectUri } }];
};

/** From now on its sessions may do what those of the operator's own apps may. */
export const trustApp = (app: State): AppEvent[] => {
  const { id, isThirdParty } = liveApp(app);
  return isThirdParty ? [{ type: 'AppTrusted', data: { appId: id } }] : [];
};

/** From now on its sessions may do what those of a third party's app may. */
export const distrustApp = (app: State): AppEvent[] => {
  const { id, isThirdParty } = liveApp(app);
  return isThirdParty ? [] : [{ type: 'AppDistrusted', data: { appId: id } }];
};

export const allowBot = (app: State): AppEvent[] => {
  const { id, allowsBot } = liveApp(app);
  return allowsBot ? [] : [{ type: 'AppBotAllowed', data: { appId: id } }];
};

/** @param policy `null` removes it */
export const changePolicy = (app: State, chainId: number, policy: SponsorshipPolicy | null): AppEvent[] => {
  const { id, policies } = liveApp(app);
  const known = policies[chainId] ?? null;
  if (canonicalJson({ policy: known }) === canonicalJson({ policy })) return [];
  return [{ type: 'AppPolicyChanged', data: { appId: id, chainId, policy } }];
};

export const revokeApp = (app: State): AppEvent[] => {
  const { id, isRevoked } = registeredApp(app);
  return isRevoked ? [] : [{ type: 'AppRevoked', data: { appId: id } }];
};

/** @throws Refusal validation_failed */
export const registeredApp = (app: State): App => {
  if (!app) throw new Refusal('validation_failed', 'no app has this id: annals app list shows every app');
  return app;
};

/** @throws Refusal app_revoked */
export const liveApp = (app: State): App => {
  const registered = registeredApp(app);
  if (registered.isRevoked) throw new Refusal('app_revoked', 'the app was revoked: register another');
  return registered;
};
