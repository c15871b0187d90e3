import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';
import type { CountedName } from './rate-limits.ts';

/** One route of the interface: what the guards enforce, the controller parses and OpenAPI describes. */
export interface RouteContract<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  service: 'account' | 'event-catcher' | 'stream';
  method: 'GET' | 'POST' | 'DELETE';
  /** With `{name}` for path parameters. */
  path: string;
  summary: string;
  /** `app`: the four headers H. `bearer`: an access token. */
  auth: 'none' | 'app' | 'bearer';
  /** Without it `request`. */
  rateLimit?: CountedName;
  /** A command: takes `Idempotency-Key`, answers `x-position`. */
  command?: boolean;
  params?: Params;
  query?: Query;
  body?: Body;
  /** Status of success. */
  status: 200 | 201 | 204;
  answer: Answer;
  /** Codes beyond those that the conventions give every route. */
  problems: readonly ProblemCode[];
}

/** Keeps the literal types of a contract, so that a controller's request and answer are typed by it. */
export const route = <const Contract extends RouteContract>(contract: Contract): Contract => contract;
