import { isDeepStrictEqual } from 'node:util';
import { answerHeaders } from '../../../schemas/http/headers.ts';
import { problem, problemCatalogue } from '../../../schemas/http/problem.ts';
import { exportedItem, exportEnd } from '../../../schemas/http/account/history.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import type { HttpAnswer, HttpRequest } from './http-client.ts';
import type { RouteUnderTest } from './routes-under-test.ts';
import type { z } from 'zod';

const JSON_TYPE = /^application\/json\b/;
/** A dependency does not answer in time: so may a busy machine. */
const BUSY = 503;

/** Whether a request did what it is for, or may when it is sent again. */
export const isSuccessOrBusy = (contract: RouteContract, answer: HttpAnswer): boolean =>
  isSuccess(contract, answer) || answer.status === BUSY;

/** Whether a request did what it is for; of JSON-RPC, every call of it. */
export const isSuccess = (contract: RouteContract, answer: HttpAnswer): boolean =>
  hasStatusOfSuccess(contract, answer) && codesOfCalls(contract, answer).length === 0;

const hasStatusOfSuccess = ({ status, repeated }: RouteContract, answer: HttpAnswer): boolean =>
  answer.status === status || answer.status === repeated;

/** The codes of the calls that failed, where a route answers JSON-RPC. */
const codesOfCalls = ({ readsBody }: RouteContract, { text }: HttpAnswer): number[] => {
  if (!readsBody || text === '') return [];
  const answers = [JSON.parse(text) as { error?: { code: number } }].flat();
  return answers.flatMap(({ error }) => error?.code ?? []);
};

/** Returns what is wrong with an answer; `undefined` if it is as documented. */
export const faultOf = (
  answer: HttpAnswer,
  { method, headers: asked }: Pick<HttpRequest, 'method' | 'headers'>,
  { route, codes }: { route: RouteUnderTest | undefined; codes: ReadonlyMap<number, readonly string[]> },
): string | undefined => {
  const { status, headers } = answer;
  if (status >= 500 && status !== BUSY) return 'it is an error of the server';
  const wrong = Object.entries(answerHeaders).find(([name, { pattern }]) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? name === 'x-request-id' : !pattern.test(String(value));
  });
  if (wrong) return `the header ${wrong[0]} is missing or malformed`;
  if (method === 'HEAD') return answer.text === '' ? undefined : 'an answer to HEAD has a body';
  const invalid = status === 400 ? route?.contract.readsBody?.invalid : undefined;
  if (invalid && JSON_TYPE.test(headers['content-type'] ?? '')) return read(invalid, answer.text).fault;
  // Who repeats a request is given the first answer again, which names the first.
  if (status >= 400) return faultOfProblem(answer, codes, { mayBeRepeated: 'idempotency-key' in asked });
  if (!route || !hasStatusOfSuccess(route.contract, answer)) return 'this status is not documented';
  if (codesOfCalls(route.contract, answer).includes(rpcCodes.internalError))
    return 'a call failed by an error of the server';
  return faultOfSuccess(route, answer);
};

const faultOfProblem = (
  { status, headers, text }: HttpAnswer,
  codes: ReadonlyMap<number, readonly string[]>,
  { mayBeRepeated }: { mayBeRepeated: boolean },
): string | undefined => {
  if (!/^application\/problem\+json\b/.test(headers['content-type'] ?? ''))
    return 'the content type is not that of a problem';
  const { fault, data } = read(problem, text);
  if (!data) return fault;
  const { code, title, type, instance, retryAfter } = data;
  if (problemCatalogue[code].status !== status || data.status !== status) return `${code} has another status`;
  if (!codes.get(status)?.includes(code)) return `${code} is not documented for this route`;
  if (title !== problemCatalogue[code].title || type !== `https://annals.dev/errors/${code}`) return 'another title';
  if (instance !== headers['x-request-id'] && !mayBeRepeated) return 'instance is not the request id';
  if (retryAfter !== undefined && headers['retry-after'] !== String(retryAfter)) return 'another Retry-After';
  if (status === 405 && headers.allow === undefined) return 'Allow is missing';
  return fault;
};

const faultOfSuccess = ({ name, contract }: RouteUnderTest, { status, headers, text }: HttpAnswer) => {
  if (contract.command && contract.auth !== 'none' && headers['x-position'] === undefined)
    return 'x-position is missing';
  if (status === 204) return text === '' ? undefined : 'an answer without content has some';
  if (name === 'exportHistory') return faultOfExport(headers['content-type'], text);
  if (contract.answerType !== undefined)
    return headers['content-type'] === contract.answerType
      ? undefined
      : `the content type is not ${contract.answerType}`;
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return 'the content type is not JSON';
  return read(contract.answer, text).fault;
};

/** An export is one JSON object a line. */
const faultOfExport = (contentType: string | undefined, text: string): string | undefined => {
  if (contentType !== 'application/x-ndjson') return 'the content type is not that of an export';
  const lines = text.split('\n').filter((line) => line !== '');
  return lines
    .map((line, at) => read(at === lines.length - 1 ? exportEnd : exportedItem, line).fault)
    .find((fault) => fault !== undefined);
};

/** Reads JSON that has to be exactly what its schema says: no member more. */
const read = <Schema extends z.ZodType>(schema: Schema, text: string): { fault?: string; data?: z.output<Schema> } => {
  try {
    const given: unknown = JSON.parse(text);
    const { data, error } = schema.safeParse(given);
    if (error) return { fault: `it does not fit its schema: ${error.message}` };
    return isDeepStrictEqual(data, given) ? { data } : { data, fault: 'it has members that its schema has not' };
  } catch {
    return { fault: 'it is not JSON' };
  }
};
