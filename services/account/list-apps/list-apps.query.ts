import { Query } from '@nestjs/cqrs';
import type { App } from '../domain/app.ts';

/** Every app, in the order they were registered. */
export class ListApps extends Query<App[]> {}
