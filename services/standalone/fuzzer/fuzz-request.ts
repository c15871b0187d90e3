import type { RouteContract } from '../../../schemas/http/route.ts';
import type { HttpRequest } from './http-client.ts';

/** Who asks: returns the headers that prove it, which may depend on all that is sent. */
export type Caller = (sent: Pick<HttpRequest, 'method' | 'path' | 'body'>) => Record<string, string>;

/** A request before it is written down. */
export interface FuzzRequest {
  method: string;
  params: Record<string, string>;
  query: [name: string, value: string][];
  /** Besides those of the caller, or instead; `undefined` to leave one out. */
  headers: Record<string, string | string[] | undefined>;
  /** Any JSON; `undefined` to send none. */
  body: unknown;
  /** Returns the bytes that are sent instead of the body as it is written usually. */
  bytes?: (written: string) => Buffer;
  caller?: Caller | undefined;
  /** Proves the body, once nothing in it is changed any more. */
  seal?: ((body: unknown) => unknown) | undefined;
}

/** What a route needs to succeed, besides what is left out: nothing, for most. */
export type Valid = Partial<Pick<FuzzRequest, 'params' | 'headers' | 'body' | 'caller' | 'seal'>> & {
  query?: Record<string, string>;
};

export const requestOf = (
  { method }: RouteContract,
  { params = {}, query = {}, headers = {}, body, caller, seal }: Valid,
): FuzzRequest => ({ method, params, query: Object.entries(query), headers, body, caller, seal });

/** Writes a request down. */
export const written = ({ path: template }: RouteContract, request: FuzzRequest): HttpRequest => {
  const { method, params, query, headers, body, bytes = (text: string) => Buffer.from(text), caller, seal } = request;
  const filled = template.replaceAll(/\{\+?(\w+)\}/g, (_, name: string) => escaped(params[name] ?? ''));
  const asked = query.map((pair) => pair.map(escaped).join('=')).join('&');
  const path = asked === '' ? filled : `${filled}?${asked}`;
  const text = body === undefined ? undefined : JSON.stringify(seal ? seal(body) : body);
  const sent = { method, path, body: text === undefined && !request.bytes ? undefined : bytes(text ?? '') };
  const contentType = sent.body && { 'content-type': 'application/json' };
  const all: Record<string, Header[1] | undefined> = { ...contentType, ...caller?.(sent), ...headers };
  return {
    ...sent,
    headers: Object.fromEntries(Object.entries(all).filter((pair): pair is Header => pair[1] !== undefined)),
  };
};

type Header = [name: string, value: string | string[]];

/** Percent-encodes; what begins with `raw:` is sent as it is, as far as HTTP can. */
const escaped = (text: string): string =>
  text.startsWith('raw:') ? text.slice(4).replaceAll(/[^!-~]/g, '') : encodeURIComponent(text.toWellFormed());
