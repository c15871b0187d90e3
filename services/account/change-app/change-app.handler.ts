import { appStream, type AppEvent, type SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import {
  allowBot,
  allowOrigin,
  allowRedirect,
  appFold,
  changePolicy,
  revokeApp,
  rotateAppKey,
  type App,
} from '../domain/app.ts';
import { checkRedirectUri, normaliseOrigin, type AddressOptions } from '../domain/app-addresses.ts';
import { newSigningKey, signerOf } from '../edge/app-signing-key.ts';

/** What an operator changes of an app: `true`, the origin or redirect URI that it may use too, or what it pays for on a chain. */
export type AppChange =
  | { allowOrigin: string }
  | { allowRedirect: string }
  | { allowBot: true }
  /** `null` removes it. */
  | { chainId: number; policy: SponsorshipPolicy | null }
  /** It cannot be undone. */
  | { revoke: true };

/** What `annals app rotate` shows once: the signing key is not stored. */
export interface RotatedApp {
  app: App;
  signingKey: string;
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
export const rotateKey = async (
  transactor: Transactor,
  appId: string,
  { metadata }: Pick<ChangeOptions, 'metadata'>,
): Promise<RotatedApp> => {
  const signingKey = newSigningKey(transactor.ids);
  const signer = signerOf(signingKey);
  const app = await decideOnApp(transactor, appId, metadata, (before) => rotateAppKey(before, signer));
  return { app, signingKey };
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
