import { format } from 'oxfmt';
import type { z } from 'zod';
import { accountRoutes, session } from '../../../schemas/http/account/account-routes.ts';
import { streamRoutes } from '../../../schemas/http/stream/stream-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { eventRecord } from '../../../schemas/http/event-catcher/event-record.ts';
import { problem, problemCatalogue } from '../../../schemas/http/problem.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { subscribe, subscribed } from '../../../schemas/socket/stream-commands.ts';
import { streamEvent, streamMessages } from '../../../schemas/socket/stream-messages.ts';
import { commentOf, typescriptOf } from './typescript-of-schema.ts';

const contracts: Record<string, RouteContract> = { ...accountRoutes, ...eventCatcherRoutes, ...streamRoutes };

/** The module that the package has in the place of `shared/client/routes.ts`: the same, without zod. */
export const routeModule = (): string => {
  const table = Object.fromEntries(
    Object.entries(contracts).map(([name, { service, method, path, auth, answerType }]) => [
      name,
      { service, method, path, auth, answerType },
    ]),
  );
  const statuses = Object.entries(problemCatalogue).map(([code, { status }]) => [code, status]);
  return `export const routeTable = ${JSON.stringify(table)};
export const problemStatus = ${JSON.stringify(Object.fromEntries(statuses))};
`;
};

const CODES = Object.keys(problemCatalogue)
  .map((code) => JSON.stringify(code))
  .join(' | ');

/** The types of that module. */
export const routeTypes = async (): Promise<string> => {
  const messages = Object.entries(streamMessages).map(
    ([name, schema]) => `${name}: ${typescriptOf(schema, 'output')};`,
  );
  const routes = Object.entries(contracts).map(
    ([name, contract]) => `${commentOf(contract.summary)}${name}: ${routeOf(contract)};`,
  );
  const text = `
export type ProblemCode = ${CODES};
export interface RouteOfTable {
  service: 'account' | 'event-catcher' | 'stream';
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  auth: 'none' | 'app' | 'bearer';
  answerType?: 'application/x-ndjson' | 'text/plain; charset=utf-8' | 'application/octet-stream';
}
export declare const routeTable: Readonly<Record<string, RouteOfTable>>;
export declare const problemStatus: Readonly<Record<string, number>>;
${named('Problem', problem, 'output')}
${named('Session', session, 'output')}
${named('EventRecord', eventRecord, 'output')}
${named('StreamEvent', streamEvent, 'output')}
${named('SubscribeRequest', subscribe, 'input')}
${named('Subscribed', subscribed, 'output')}
export interface StreamMessages {
${messages.join('\n')}
}
/** Of every route, what it takes and answers. */
export interface Routes {
${routes.join('\n')}
}
`;
  const { code, errors } = await format('routes.d.ts', text.replaceAll(`code: ${CODES}`, 'code: ProblemCode'), {
    printWidth: 120,
    singleQuote: true,
  });
  if (errors.length > 0) throw new Error('the types of the routes cannot be formatted', { cause: errors });
  return code;
};

const named = (name: string, schema: z.ZodType, io: 'input' | 'output') =>
  `export type ${name} = ${typescriptOf(schema, io)};`;

const routeOf = ({ params, query, body, answer, answerType, status, openParameters }: RouteContract): string => {
  const input = (schema: z.ZodType | undefined, open?: string) =>
    schema ? typescriptOf(schema, 'input', open) : 'undefined';
  const isOptional = body?.safeParse(undefined).success === true;
  return `{
params: ${input(params)};
query: ${input(query, openParameters?.prefix)};
body: ${input(body)}${isOptional ? ' | undefined' : ''};
answer: ${status === 204 ? 'undefined' : answerOf(answer, answerType)};
}`;
};

const answerOf = (answer: z.ZodType, type: RouteContract['answerType']): string => {
  if (type === 'application/octet-stream') return 'Uint8Array';
  if (type === 'application/x-ndjson') return `AsyncIterable<${typescriptOf(answer, 'output')}>`;
  return typescriptOf(answer, 'output');
};
