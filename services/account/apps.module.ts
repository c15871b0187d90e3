import type { EventMetadata } from '../../schemas/events/event.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { App } from './domain/app.ts';
import { listApps } from './list-apps/list-apps.handler.ts';
import { createApp, type AppToRegister, type RegisteredApp } from './register-app/register-app.handler.ts';

/** What the operator does with apps: needs the event store, and no running service. */
export interface OperatedApps {
  /** @throws Refusal validation_failed */
  register: (app: AppToRegister) => Promise<RegisteredApp>;
  /** In the order they were registered. */
  list: () => Promise<App[]>;
}

export const operateApps = ({
  eventStore,
  clock,
  ids,
}: Pick<Foundation, 'eventStore' | 'clock' | 'ids'>): OperatedApps => {
  const transactor = new Transactor(eventStore, clock, ids);
  const metadata = (): EventMetadata => ({ correlationId: ids.token(20), actor: { type: 'admin', id: 'operator' } });
  return {
    register: (app) => createApp(transactor, app, metadata()),
    list: () => listApps(eventStore),
  };
};
