import type { EventMetadata } from '../../schemas/events/event.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { App } from './domain/app.ts';
import { listApps } from './list-apps/list-apps.handler.ts';
import { createApp, type AppToRegister, type RegisteredApp } from './register-app/register-app.handler.ts';

/** The commands and queries of an operator for apps. They need the stores, and no running service. */
export interface AppAdministration {
  /** @throws Refusal validation_failed */
  register: (app: AppToRegister) => Promise<RegisteredApp>;
  /** In the order of registration. */
  list: () => Promise<App[]>;
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
  };
};
