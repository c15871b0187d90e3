import type { AppEvent, SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import { liveApp, registeredApp, type App } from '../../../../shared/auth/app.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { canonicalJson } from '../../../../shared/primitives/text/canonical-json.ts';

export const apiKeyFrom = (token32: string): string => `ak_${token32}`;

const SERVER_KEYS_MAX = 2;

type State = App | undefined;
type Registration = Omit<App, 'signers' | 'serverSigners' | 'allowsBot' | 'rpId' | 'policies' | 'isRevoked'> & {
  signer: string;
};

export const registerApp = (app: State, { id, ...registration }: Registration): AppEvent[] => {
  if (app) return [];
  const { redirectUris, origins, ...rest } = registration;
  const lists = { origins: [...origins], redirectUris: [...redirectUris] };
  return [{ type: 'AppRegistered', data: { appId: id, ...rest, ...lists } }];
};

/** Adds a signing key. The previous one stays valid until the next rotation. */
export const rotateAppKey = (app: State, signer: string): AppEvent[] => {
  const { id, signers } = liveApp(app);
  return signers[0] === signer ? [] : [{ type: 'AppKeyRotated', data: { appId: id, signer } }];
};

/** Adds a server key. The previous one stays valid beside it; an older one ends. */
export const createServerKey = (app: State, signer: string): AppEvent[] => {
  const { id, serverSigners } = liveApp(app);
  if (serverSigners[0] === signer) return [];
  const tooOld = serverSigners.slice(SERVER_KEYS_MAX - 1);
  return [
    ...tooOld.map((old) => serverKeyRevoked(id, old)),
    { type: 'AppServerKeyCreated', data: { appId: id, signer } },
  ];
};

/** Ends the server key with this address; without an address, every server key. */
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

/** From now on its sessions may do only what those of a third party's app may. */
export const distrustApp = (app: State): AppEvent[] => {
  const { id, isThirdParty } = liveApp(app);
  return isThirdParty ? [] : [{ type: 'AppDistrusted', data: { appId: id } }];
};

export const allowBot = (app: State): AppEvent[] => {
  const { id, allowsBot } = liveApp(app);
  return allowsBot ? [] : [{ type: 'AppBotAllowed', data: { appId: id } }];
};

/** Passkeys that were made for another RP id log in nobody while this one is set. @throws Refusal validation_failed */
export const setRpId = (app: State, rpId: string): AppEvent[] => {
  const { id, origins, rpId: before } = liveApp(app);
  if (before === rpId) return [];
  if (!origins.some((origin) => isPartOf(new URL(origin).hostname, rpId))) {
    throw new Refusal('validation_failed', `no origin of the app is at ${rpId} or a subdomain of it`);
  }
  return [{ type: 'AppRpIdSet', data: { appId: id, rpId } }];
};

/** Whether a hostname is this one or a subdomain of it. */
export const isPartOf = (hostname: string, rpId: string): boolean => hostname === rpId || hostname.endsWith(`.${rpId}`);

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
