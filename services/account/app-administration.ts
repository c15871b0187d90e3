import { appStream } from '../../schemas/events/account/app-events.ts';
import { operatorMetadata } from '../../shared/event-store/transactions/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { appFold, registeredApp, type App } from '../../shared/auth/app.ts';
import { addKey, changeApp, type AppChange } from './apps/change-app/change-app.handler.ts';
import { createServerKey, rotateAppKey } from './apps/domain/app.ts';
import { signerOf } from './apps/app-signing-key.ts';
import { listApps } from './apps/list-apps/list-apps.handler.ts';
import { createApp, type AppToRegister, type RegisteredApp } from './apps/register-app/register-app.handler.ts';

export type { App, AppChange };

export type AppAdministration = ReturnType<typeof appAdministration>;

/** The operator's commands and queries for apps. They need the stores, but no running service. */
export const appAdministration = ({
  eventStore,
  readStore,
  settings,
  clock,
  ids,
}: Pick<Foundation, 'eventStore' | 'readStore' | 'settings' | 'clock' | 'ids'>) => {
  const allowLocalHttp = settings.NODE_ENV !== 'production';
  const transactor = new Transactor(eventStore, clock, ids);
  const metadata = () => operatorMetadata(ids);
  return {
    /** @throws Refusal validation_failed */
    register: (app: AppToRegister): Promise<RegisteredApp> =>
      createApp(transactor, app, { metadata: metadata(), allowLocalHttp }),
    /** In the order of registration. */
    list: () => listApps({ eventStore, readStore }),
    /** @throws Refusal validation_failed, app_revoked */
    change: (appId: string, change: AppChange) =>
      changeApp(transactor, appId, change, { metadata: metadata(), allowLocalHttp }),
    /** @throws Refusal validation_failed, app_revoked */
    rotate: (appId: string) => addKey(transactor, appId, metadata(), rotateAppKey),
    /** @throws Refusal validation_failed, app_revoked */
    createServerKey: (appId: string) => addKey(transactor, appId, metadata(), createServerKey),
    /** Returns what the app pays for, by chain id. @throws Refusal validation_failed */
    policies: async (appId: string) => registeredApp((await transactor.load(appStream(appId), appFold)).state).policies,
    /** Whether an app is live, and whether this is one of its signing keys. */
    accepts: async ({ id, signingKey }: { id: string; signingKey: string }) => {
      const { state: app } = await transactor.load(appStream(id), appFold);
      return app !== undefined && !app.isRevoked && app.signers.includes(signerOf(signingKey));
    },
  };
};
