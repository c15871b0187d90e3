import { basename } from 'node:path';
import { z } from 'zod';
import { eventCatalogue } from '../../schemas/events/catalogue.ts';
import { dataSchemaUrl, type EventDefinition } from '../../schemas/events/event.ts';
import { accountRoutes } from '../../schemas/http/account-routes.ts';
import { eventCatcherRoutes } from '../../schemas/http/event-catcher-routes.ts';
import type { RouteContract } from '../../schemas/http/route.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { openApiDocument } from './openapi.ts';

/** Returns the files of `schemas/generated/`, by name. */
export const generatedDocuments = (): Map<string, string> => {
  const documents = {
    'openapi.account.json': openApiDocument('Annals account service', routesOf(accountRoutes)),
    'openapi.event-catcher.json': openApiDocument('Annals event catcher', routesOf(eventCatcherRoutes)),
    'asyncapi.json': asyncApiDocument(),
    ...Object.fromEntries(Object.entries(eventCatalogue).map(eventSchema)),
  };
  return new Map(Object.entries(documents).map(([name, document]) => [name, `${JSON.stringify(document, null, 2)}\n`]));
};

/** Returns the file that the header `ce_dataschema` names. */
const eventSchema = ([type, { version, data }]: [string, EventDefinition]): [string, object] => {
  const $id = dataSchemaUrl(type, version);
  return [`events/${basename($id)}`, { $id, title: type, ...z.toJSONSchema(data, { io: 'input' }) }];
};

const routesOf = (routes: Record<string, RouteContract>): RouteContract[] => Object.values(routes);
