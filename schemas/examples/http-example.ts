import type { z } from 'zod';
import type { RouteContract } from '../http/route.ts';

/** What a route is asked and answers, for its document: without what it does not have. */
export interface HttpExample {
  body?: unknown;
  answer?: unknown;
  /** Of a route that takes several requests at once. */
  batch?: { body: unknown; answer: unknown };
}

type Body<Contract> = Contract extends { body: infer Schema extends z.ZodType } ? { body: z.input<Schema> } : unknown;
type Answer<Contract extends RouteContract> = Contract['answer'] extends z.ZodUndefined
  ? unknown
  : { answer: z.output<Contract['answer']> };

/** One example for each route. */
export type ExamplesOf<Routes extends Record<string, RouteContract>> = {
  [Name in keyof Routes]: Body<Routes[Name]> & Answer<Routes[Name]> & HttpExample;
};
