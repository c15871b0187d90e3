import type { z } from 'zod';
import { accountRoutes, type Session } from '../../schemas/http/account/account-routes.ts';
import { eventCatcherRoutes } from '../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { EventRecord } from '../../schemas/http/event-catcher/event-record.ts';
import { problemCatalogue, type Problem, type ProblemCode } from '../../schemas/http/problem.ts';
import type { RouteContract } from '../../schemas/http/route.ts';
import { streamRoutes } from '../../schemas/http/stream/stream-routes.ts';
import type { streamCommands, Subscribed } from '../../schemas/socket/stream-commands.ts';
import type { StreamEvent, StreamMessages } from '../../schemas/socket/stream-messages.ts';

/**
 * What the client knows of the interface. The package has another module in the place of this one, written from the same
 * schemas by `npm run client`: with types that need no zod, and of each route only what sends a request.
 */
export type { EventRecord, Problem, ProblemCode, Session, StreamEvent, StreamMessages, Subscribed };
export type SubscribeRequest = z.input<(typeof streamCommands)['subscribe']['payload']>;

const contracts = { ...accountRoutes, ...eventCatcherRoutes, ...streamRoutes };
type Contracts = typeof contracts;

/** Of a contract, what it takes to send a request. */
export type RouteOfTable = Pick<RouteContract, 'service' | 'method' | 'path' | 'auth' | 'answerType'>;
export const routeTable: Readonly<Record<string, RouteOfTable>> = contracts;

/** The HTTP status of each code, by which a refusal over a socket is judged as well. */
export const problemStatus: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(problemCatalogue).map(([code, { status }]) => [code, status]),
);

/** A number in a query is converted from text, so its schema takes anything: here it is what the text stands for. */
type Converted<In, Out> = { [Name in keyof In]: unknown extends In[Name] ? Out[Name & keyof Out] : In[Name] };
type QueryOf<Schema> = Schema extends z.ZodType ? Converted<z.input<Schema>, z.output<Schema>> : undefined;
type InputOf<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;
type AnswerOf<Contract extends RouteContract> = Contract['answerType'] extends 'application/x-ndjson'
  ? AsyncIterable<z.output<Contract['answer']>>
  : z.output<Contract['answer']>;

/** Of every route, what it takes and answers. */
export type Routes = {
  [Name in keyof Contracts]: {
    params: Contracts[Name] extends { params: infer Params } ? Converted<InputOf<Params>, z.output<Params>> : undefined;
    query: Contracts[Name] extends { query: infer Query } ? QueryOf<Query> : undefined;
    body: Contracts[Name] extends { body: infer Body } ? InputOf<Body> : undefined;
    answer: AnswerOf<Contracts[Name]>;
  };
};
