import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FieldError } from '../../../schemas/http/problem.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { invalid } from '../../errors/refusal.ts';
import { nearestName } from '../../primitives/text/nearest-name.ts';
import { readMembers } from './read-members.ts';
import { requestContext } from './request-context.ts';

/** Maximum errors in an answer: enough to fix a request, and a limit for hostile ones. */
const ERRORS_MAX = 20;

/** Parses the members that a contract names, and drops all others. @throws Refusal validation_failed */
export const parseRequest = (contract: RouteContract, request: FastifyRequest) => {
  const errors: FieldError[] = [];
  const params = paramsOf(contract, request);
  const parsed = {
    params: decimal(parse(contract.params, params, 'path', errors), params, errors),
    query: decimal(parse(contract.query, request.query, 'query', errors), request.query, errors),
    body: contract.readsBody ? request.rawBody : parse(contract.body, request.body, 'body', errors),
  };
  refuseUnknownParameters(contract, request.query, errors);
  if (errors.length > 0) throw invalid(...errors.slice(0, ERRORS_MAX));
  return { ...parsed, caller: request.caller, context: requestContext(request) };
};

/** Fastify calls the rest of a path `*`. */
const paramsOf = ({ path }: RouteContract, { params }: FastifyRequest): unknown => {
  const rest = /\{\+(\w+)\}$/.exec(path)?.[1];
  return rest === undefined ? params : { ...(params as object), [rest]: (params as Record<string, string>)['*'] };
};

/**
 * Without this, a misspelt filter would return everything. Names that begin with `_` are free for the caller's own use.
 */
const refuseUnknownParameters = (
  { query, openParameters }: RouteContract,
  given: unknown,
  errors: FieldError[],
): void => {
  const known = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  for (const path of Object.keys(given as object)) {
    if (known.includes(path) || path.startsWith('_')) continue;
    if (openParameters && path.startsWith(openParameters.prefix)) continue;
    if (errors.length >= ERRORS_MAX) return;
    errors.push({ path, message: `is not a parameter here${suggestion(path, known)}` });
  }
};

const suggestion = (path: string, known: readonly string[]): string => {
  const nearest = nearestName(path, known);
  return nearest === undefined ? ': there are none' : `: the nearest is ${nearest}`;
};

const parse = (schema: z.ZodType | undefined, value: unknown, whole: string, errors: FieldError[]): unknown =>
  schema && readMembers(schema, value, { whole, errors });

/** Refuses texts that only JavaScript reads as a number: `0x10`, `1e3`, ` 7`, the empty text. */
const decimal = (parsed: unknown, given: unknown, errors: FieldError[]): unknown => {
  const texts = given as Record<string, unknown>;
  for (const [path, value] of Object.entries(parsed ?? {})) {
    if (typeof value !== 'number' || !Object.hasOwn(texts, path)) continue;
    if (!/^\d+$/.test(String(texts[path]))) errors.push({ path, message: 'is not a number in decimal digits' });
  }
  return parsed;
};
