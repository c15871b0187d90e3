import { appStream } from '../../schemas/events/app-events.ts';
import type { EventMetadata } from '../../schemas/events/event.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { appFold, type App } from './domain/app.ts';
import { changeApp, rotateKey, type AppChange, type RotatedApp } from './change-app/change-app.handler.ts';
import { signerOf } from './edge/app-signing-key.ts';
import { listApps } from './list-apps/list-apps.handler.ts';
import { createApp, type AppToRegister, type RegisteredApp } from './register-app/register-app.handler.ts';

export type { App, AppChange };

/** The commands and queries of an operator for apps. They need the stores, and no running service. */
export interface AppAdministration {
  /** @throws Refusal validation_failed */
  register: (app: AppToRegister) => Promise<RegisteredApp>;
  /** In the order of registration. */
  list: () => Promise<App[]>;
  /** @throws Refusal validation_failed, app_revoked */
  change: (appId: string, change: AppChange) => Promise<App>;
  /** @throws Refusal validation_failed, app_revoked */
  rotate: (appId: string) => Promise<RotatedApp>;
  /** Whether an app is live, and whether this is one of its signing keys. */
  accepts: (app: { id: string; signingKey: string }) => Promise<boolean>;
}

export const appAdministration = ({
  eventStore,
  readStore,
  settings,
  clock,
  ids,
}: Pick<Foundation, 'eventStore' | 'readStore' | 'settings' | 'clock' | 'ids'>): AppAdministration => {
  const allowLocalHttp = settings.NODE_ENV !== 'production';
  const transactor = new Transactor(eventStore, clock, ids);
  const metadata = (): EventMetadata => ({ correlationId: ids.token(20), actor: { type: 'admin', id: 'operator' } });
  return {
    register: (app) => createApp(transactor, app, { metadata: metadata(), allowLocalHttp }),
    list: () => listApps({ eventStore, readStore }),
    change: (appId, change) => changeApp(transactor, appId, change, { metadata: metadata(), allowLocalHttp }),
    rotate: (appId) => rotateKey(transactor, appId, { metadata: metadata() }),
    accepts: async ({ id, signingKey }) => {
      const { state: app } = await transactor.load(appStream(id), appFold);
      return app !== undefined && !app.isRevoked && app.signers.includes(signerOf(signingKey));
    },
  };
};
