import type { z } from 'zod';
import type { HeaderRule } from './headers.ts';
import type { ProblemCode } from './problem.ts';
import type { CountedName } from './rate-limits.ts';

/** One route of the interface. Guards enforce it, the controller parses by it, and OpenAPI describes it. */
export interface RouteContract<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  service: 'account' | 'event-catcher' | 'stream';
  method: 'GET' | 'POST' | 'DELETE';
  /** With `{name}` for path parameters, and `{+name}` at the end for one that may have slashes (RFC 6570). */
  path: string;
  summary: string;
  /** `app`: the four headers H. `bearer`: an access token. */
  auth: 'none' | 'app' | 'bearer';
  /** At `app`, whether its server key signs, by scheme `v2`, and not a signing key. */
  signedByServerKey?: true;
  /** At `bearer`, whether an app's own access token does as well. */
  appTokens?: true;
  /** At `bearer`, whether a connection token of the gateway does as well. Some are an app's own, so `appTokens` is set too. */
  connectionTokens?: true;
  /** At `bearer`, whether a guard of its own admits requests: the token may also come elsewhere, or be needless. */
  hasOwnGuard?: true;
  /** The limit that counts it; default `request`. */
  rateLimit?: CountedName;
  /** Whether it is a command, which answers with `x-position`, and accepts `Idempotency-Key` of a caller who is known. */
  command?: boolean;
  /** Whether `Idempotency-Key` is the secret of a client that refreshes, and names no answer that is kept. */
  refreshKey?: true;
  /** At a command without a caller, whose body is signed: the members of the body that name who signed it. */
  signedBody?: readonly string[];
  /** At a command of an app, the member of the body that says who logs in: each may use the same `Idempotency-Key`. */
  identifiedBy?: string;
  params?: Params;
  query?: Query;
  /** How names of further parameters of the query begin, which the handler knows. */
  openParameters?: { prefix: string; description: string };
  /** Headers that this route alone requires, in lower case; its handler reads them. */
  headers?: Readonly<Record<string, HeaderRule>>;
  body?: Body;
  /** Its handler reads the body by itself, which has so many bytes at most, and answers what it cannot read with 400 and this. */
  readsBody?: { bytesMax: number; invalid: z.ZodType };
  /** The status of success. */
  status: 200 | 201 | 202 | 204;
  /** The status of a command that finds what it asks for done already, where it is another. */
  repeated?: 200;
  answer: Answer;
  /**
   * The media type of an answer that is not JSON: a stream of lines, whose schema is `answer`, or text or bytes as they are.
   */
  answerType?: 'application/x-ndjson' | 'text/plain; charset=utf-8' | 'application/octet-stream';
  /** Whether a JSON answer is written while it is read, because it may be too large to be held. */
  isStreamed?: true;
  /** The other media types in which the answer can be asked for by the header `Accept`; such an answer is a stream of text. */
  streams?: Readonly<Record<string, z.ZodType<string>>>;
  /** Whether a successful answer never changes, so that every cache may keep it. */
  isImmutable?: true;
  /** The codes in addition to those of every route. */
  problems: readonly ProblemCode[];
}

/** Keeps the literal types of a contract, which type the request and answer of its controller. */
export const route = <const Contract extends RouteContract>(contract: Contract): Contract => contract;
