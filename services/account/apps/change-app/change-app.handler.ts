import { appStream, type AppEvent, type SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import {
  allowBot,
  allowOrigin,
  allowRedirect,
  changePolicy,
  distrustApp,
  revokeApp,
  revokeServerKeys,
  setRpId,
  trustApp,
} from '../domain/app.ts';
import { appFold, type App } from '../../../../shared/auth/app.ts';
import { checkRedirectUri, normaliseOrigin, normaliseRpId, type AddressOptions } from '../domain/app-addresses.ts';
import { newSigningKey, signerOf } from '../app-signing-key.ts';

/**
 * An operator's change of an app: allow a further origin, redirect URI or its bot, change its policy on a chain, or one
 * of the changes below.
 */
export type AppChange =
  | { allowOrigin: string }
  | { allowRedirect: string }
  | { allowBot: true }
  | { rpId: string }
  /** Whether its sessions may do everything, or only what those of a third party's app may. */
  | { trust: boolean }
  /** `null` removes the policy. */
  | { chainId: number; policy: SponsorshipPolicy | null }
  /** Ends the server key with this address; `undefined`: every server key. */
  | { revokeServerKey: string | undefined }
  /** Cannot be undone. */
  | { revoke: true };

/** Changes an app, for an operator. @throws Refusal validation_failed, app_revoked */
export const changeApp = async (
  transactor: Transactor,
  appId: string,
  change: AppChange,
  options: AddressOptions & { metadata: EventMetadata },
): Promise<App> => decideOnApp(transactor, appId, options.metadata, decisionOf(change, options));

/**
 * Gives an app a new signing key or server key. The previous one stays valid beside it.
 * @param decide `rotateAppKey` or `createServerKey`
 * @throws Refusal validation_failed, app_revoked
 */
export const addKey = async (
  transactor: Transactor,
  appId: string,
  metadata: EventMetadata,
  decide: (app: App | undefined, signer: string) => AppEvent[],
) => {
  const newKey = newSigningKey(transactor.ids);
  const signer = signerOf(newKey);
  const app = await decideOnApp(transactor, appId, metadata, (before) => decide(before, signer));
  // Shown once by `annals app rotate` and `server-key create`: the key is not stored.
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
  if ('rpId' in change) {
    const rpId = normaliseRpId(change.rpId);
    return (app) => setRpId(app, rpId);
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
