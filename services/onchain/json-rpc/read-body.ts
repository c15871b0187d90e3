import type { JsonValue } from '../../../schemas/json.ts';
import {
  REQUESTS_MAX,
  rpcCodes,
  rpcRequest,
  type RpcFailure,
  type RpcRequest,
} from '../../../schemas/rpc/rpc-messages.ts';
import { plainText } from '../../../shared/errors/plain-text.ts';
import { isParsable } from '../../../shared/primitives/text/json-shape.ts';
import { safeParse } from '../../../shared/primitives/text/safe-parse.ts';
import { RpcError } from './methods/rpc-error.ts';

/** A request with its id as it was written, or the error answer for it. */
export type Asked = { request: RpcRequest } | { failure: RpcFailure };

/** The requests of a body. `isValid`: at least one of them can be executed. */
export interface AskedBody {
  all: readonly Asked[];
  isArray: boolean;
  isValid: boolean;
}

/** The members that the query has instead of the requests. */
type Defaults = Readonly<Record<'chainID' | 'apiKey', unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body of JSON-RPC: one request, or an array of them. */
export const readBody = (body: Uint8Array | undefined, query: Defaults): AskedBody => {
  const parsed = parse(body);
  if ('error' in parsed) return refused(parsed.error);
  const { value, ids } = parsed;
  const defaults = { chainID: chainIdOf(query.chainID), apiKey: query.apiKey };
  if (!Array.isArray(value)) {
    const asked = readRequest(value, idOf(ids), defaults);
    return { all: [asked], isArray: false, isValid: 'request' in asked };
  }
  if (value.length === 0 || value.length > REQUESTS_MAX) {
    return refused(invalidRequest(`an array has 1 to ${String(REQUESTS_MAX)} requests`));
  }
  const all = value.map((one, at) => readRequest(one, idOf((ids as unknown[])[at]), defaults));
  return { all, isArray: true, isValid: all.some((asked) => 'request' in asked) };
};

/** Returns the answer to a failed call. */
export const failureOf = (id: JsonValue, { code, message, data }: RpcError): RpcFailure => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data && { data }) },
});

const invalidRequest = (message: string): RpcError => new RpcError(rpcCodes.invalidRequest, message);

const refused = (error: RpcError): AskedBody => ({
  all: [{ failure: failureOf(null, error) }],
  isArray: false,
  isValid: false,
});

/** @returns `ids`: the same value, with numbers named `id` as they were written */
const parse = (body: Uint8Array | undefined): { value: unknown; ids: unknown } | { error: RpcError } => {
  if (body && !isParsable(body)) return { error: invalidRequest('the body is nested too deeply') };
  try {
    const text = utf8.decode(body);
    const value: unknown = JSON.parse(text);
    return { value, ids: OTHER_NUMBER.test(text) ? json.parse(text, asWritten) : value };
  } catch {
    return { error: new RpcError(rpcCodes.parseError, 'the body is not JSON in UTF-8') };
  }
};

/** ECMAScript's "JSON.parse source text access", which TypeScript does not declare yet. */
interface JsonWithSource {
  parse: (text: string, reviver: (key: string, value: unknown, written: { source?: string }) => unknown) => unknown;
  rawJSON: (text: string) => unknown;
}
const json = JSON as unknown as JsonWithSource;

/** A number that JavaScript may write differently from the input. */
const OTHER_NUMBER = /"id"\s*:\s*(?:-0|-?\d{16}|-?\d+[.eE])/;

const asWritten = (key: string, value: unknown, { source }: { source?: string }): unknown =>
  key === 'id' && typeof value === 'number' && source !== undefined && source !== String(value)
    ? json.rawJSON(source)
    : value;

const idOf = (value: unknown): JsonValue => (Object(value) as { id?: JsonValue }).id ?? null;

/** What is not a number in decimal digits is refused as what it is. */
const chainIdOf = (text: unknown): unknown =>
  typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text;

const readRequest = (value: unknown, id: JsonValue, defaults: Defaults): Asked => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { failure: failureOf(null, invalidRequest('a request is an object')) };
  }
  const parsed = safeParse(rpcRequest, { ...defaults, ...value }, { error: plainText });
  if (parsed.success) return { request: { ...parsed.data, id } };
  const [{ path, message } = { path: [], message: 'is not a request' }] = parsed.error.issues;
  return { failure: failureOf(id, invalidRequest(`${path.join('.')}: ${message}`)) };
};
