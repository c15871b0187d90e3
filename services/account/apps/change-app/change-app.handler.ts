import { appStream, type AppEvent, type SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import {
  allowBot,
  allowOrigin,
  allowRedirect,
  appFold,
  changePolicy,
  createServerKey,
  distrustApp,
  revokeApp,
  revokeServerKeys,
  rotateAppKey,
  trustApp,
  type App,
} from '../domain/app.ts';
import { checkRedirectUri, normaliseOrigin, type AddressOptions } from '../domain/app-addresses.ts';
import { newSigningKey, signerOf } from '../edge/app-signing-key.ts';

/** What an operator changes of an app: `true`, the origin or redirect URI that it may use too, or what it pays for on a chain. */
export type AppChange =
  | { allowOrigin: string }
  | { allowRedirect: string }
  | { allowBot: true }
  /** Whether its sessions may do everything, or what those of a third party's app may. */
  | { trust: boolean }
  /** `null` removes it. */
  | { chainId: number; policy: SponsorshipPolicy | null }
  /** Ends the server key of this address; `undefined`: every one. */
  | { revokeServerKey: string | undefined }
  /** It cannot be undone. */
  | { revoke: true };

/** What `annals app rotate` and `server-key create` show once: the key is not stored. */
export interface AppWithNewKey {
  app: App;
  newKey: string;
}

interface ChangeOptions extends AddressOptions {
  metadata: EventMetadata;
}

/** Changes an app, for an operator. @throws Refusal validation_failed, app_revoked */
export const changeApp = async (
  transactor: Transactor,
  appId: string,
  change: AppChange,
  options: ChangeOptions,
): Promise<App> => {
  const decide = decisionOf(change, options);
  return decideOnApp(transactor, appId, options.metadata, decide);
};

/** Gives an app a new signing key. The newest one stays valid beside it. @throws Refusal validation_failed, app_revoked */
export const rotateKey = (
  transactor: Transactor,
  appId: string,
  { metadata }: Pick<ChangeOptions, 'metadata'>,
): Promise<AppWithNewKey> => addKey(transactor, appId, metadata, rotateAppKey);

/** Gives an app a new server key. The newest one stays valid beside it. @throws Refusal validation_failed, app_revoked */
export const addServerKey = (
  transactor: Transactor,
  appId: string,
  { metadata }: Pick<ChangeOptions, 'metadata'>,
): Promise<AppWithNewKey> => addKey(transactor, appId, metadata, createServerKey);

const addKey = async (
  transactor: Transactor,
  appId: string,
  metadata: EventMetadata,
  decide: (app: App | undefined, signer: string) => AppEvent[],
): Promise<AppWithNewKey> => {
  const newKey = newSigningKey(transactor.ids);
  const signer = signerOf(newKey);
  const app = await decideOnApp(transactor, appId, metadata, (before) => decide(before, signer));
  return { app, newKey };
};

type Decide = (app: App | undefined) => AppEvent[];

const decisionOf = (change: AppChange, options: AddressOptions): Decide => {
  if ('allowOrigin' in change) {
    const origin = normaliseOrigin(change.allowOrigin, options);
    return (app) => allowOrigin(app, origin);
  }
  if ('allowRedirect' in change) {
    const redirectUri = checkRedirectUri(change.allowRedirect, options);
    return (app) => allowRedirect(app, redirectUri);
  }
  if ('revokeServerKey' in change) {
    const signer = change.revokeServerKey;
    return (app) => revokeServerKeys(app, signer);
  }
  if ('trust' in change) return change.trust ? trustApp : distrustApp;
  if ('policy' in change) return (app) => changePolicy(app, change.chainId, change.policy);
  return 'allowBot' in change ? allowBot : revokeApp;
};

const decideOnApp = async (
  transactor: Transactor,
  appId: string,
  metadata: EventMetadata,
  decide: Decide,
): Promise<App> => {
  const { state: app } = await transactor.transact({ stream: appStream(appId), fold: appFold, metadata, decide });
  if (!app) throw new Error('the app that was changed is missing');
  return app;
};
