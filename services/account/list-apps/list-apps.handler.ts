import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { appEvents } from '../../../schemas/events/app-events.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { appFold, type App } from '../domain/app.ts';
import { ListApps } from './list-apps.query.ts';

const PAGE = 1_000;

/** Reads the event store itself, so that the command line needs no running projector. */
@QueryHandler(ListApps)
export class ListAppsHandler implements IQueryHandler<ListApps> {
  constructor(private readonly transactor: Transactor) {}

  async execute(): Promise<App[]> {
    const apps: App[] = [];
    for (let after = 0; ;) {
      const batch = await this.transactor.store.readAll(after, { types: ['AppRegistered'] }, PAGE);
      for (const { data } of batch.events) {
        const event = { type: 'AppRegistered', data: appEvents.AppRegistered.data.parse(data) } as const;
        const app = appFold.evolve(appFold.initial, event);
        if (app) apps.push(app);
      }
      if (batch.caughtUp) return apps;
      after = batch.position;
    }
  }
}
