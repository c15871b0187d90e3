import { appStream } from '../../schemas/events/app-events.ts';
import { operatorMetadata } from '../../shared/event-store/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import { appFold, registeredApp, type App } from './domain/app.ts';
import {
  addServerKey,
  changeApp,
  rotateKey,
  type AppChange,
  type AppWithNewKey,
} from './change-app/change-app.handler.ts';
import { signerOf } from './edge/app-signing-key.ts';
import { utcDay } from './edge/sponsorships.ts';
import { listApps } from './list-apps/list-apps.handler.ts';
import { readSponsorship, type DaySponsorship } from './read-sponsorship/read-sponsorship.handler.ts';
import { createApp, type AppToRegister, type RegisteredApp } from './register-app/register-app.handler.ts';

export type { App, AppChange, DaySponsorship };

/** The commands and queries of an operator for apps. They need the stores, and no running service. */
export interface AppAdministration {
  /** @throws Refusal validation_failed */
  register: (app: AppToRegister) => Promise<RegisteredApp>;
  /** In the order of registration. */
  list: () => Promise<App[]>;
  /** @throws Refusal validation_failed, app_revoked */
  change: (appId: string, change: AppChange) => Promise<App>;
  /** @throws Refusal validation_failed, app_revoked */
  rotate: (appId: string) => Promise<AppWithNewKey>;
  /** @throws Refusal validation_failed, app_revoked */
  createServerKey: (appId: string) => Promise<AppWithNewKey>;
  /** What it pays for, by chain id. @throws Refusal validation_failed */
  policies: (appId: string) => Promise<App['policies']>;
  /**
   * What it pays and paid on a UTC day.
   * @param day `2026-01-31`; today unless it is given
   * @throws Refusal validation_failed
   */
  sponsorship: (appId: string, day?: string) => Promise<DaySponsorship>;
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
  const metadata = () => operatorMetadata(ids);
  return {
    register: (app) => createApp(transactor, app, { metadata: metadata(), allowLocalHttp }),
    list: () => listApps({ eventStore, readStore }),
    change: (appId, change) => changeApp(transactor, appId, change, { metadata: metadata(), allowLocalHttp }),
    rotate: (appId) => rotateKey(transactor, appId, { metadata: metadata() }),
    createServerKey: (appId) => addServerKey(transactor, appId, { metadata: metadata() }),
    policies: async (appId) => registeredApp((await transactor.load(appStream(appId), appFold)).state).policies,
    sponsorship: (appId, day = utcDay(clock.now())) => readSponsorship(transactor, appId, day),
    accepts: async ({ id, signingKey }) => {
      const { state: app } = await transactor.load(appStream(id), appFold);
      return app !== undefined && !app.isRevoked && app.signers.includes(signerOf(signingKey));
    },
  };
};
