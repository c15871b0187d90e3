import type { FastifyRequest } from 'fastify';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Caller } from '../../auth/caller.ts';
import { unavailable } from '../../errors/refusal.ts';
import type { Position } from '../../event-store/event-store.ts';
import type { RateLimitStatus } from '../limits/rate-limits.ts';
import type { RequestDeadline } from '../server/request-deadline.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as received, for comparison and signatures byte by byte. */
    rawBody: Buffer | undefined;
    /** Set by the admission guard. */
    caller: Caller | undefined;
    /** The limit that counted this request, for the answer's headers. */
    rateLimit: RateLimitStatus | undefined;
    deadline: RequestDeadline | undefined;
    /** Whether the connection is closed after the answer. */
    isLast: boolean;
    /** Set for a query whose answer has another status than its contract's. */
    answerStatus: number | undefined;
    /** Headers that the handler of a query adds to its answer. */
    answerHeaders: Record<string, string> | undefined;
    /** Set for a query as of an earlier position, which its answer carries as `x-as-of`. */
    shownAsOf: Position | undefined;
    /** Set for a command: its answer carries `x-position`. */
    callerIsKnown: boolean;
    /** Set for a command with an `Idempotency-Key`: the same id each time that it is carried out. */
    onceId: string | undefined;
    /** Calls back once the answer was sent, or its connection is closed. */
    whenEnded: ((callback: () => void) => void) | undefined;
  }
}

/** Information on a request, besides its contents, for its handler. */
export interface RequestContext {
  requestId: string;
  /** The client's address, through trusted proxies. */
  ip: string;
  userAgent: string | undefined;
  /** For a command with an `Idempotency-Key`: an id that is the same each time that it is carried out. */
  onceId: string | undefined;
  /** Returns a header that the contract does not name; `undefined` if it is absent or given several times. */
  header: (name: string) => string | undefined;
  /** Metadata to store with the events that this request causes. */
  metadata: EventMetadata;
  /** Adds the state of a limit to the answer's headers, for a route that counts by itself. */
  showRateLimit: (status: RateLimitStatus | undefined) => void;
  /** For a command that identifies its caller itself: from now on its answer carries `x-position`. */
  callerIsKnown: () => void;
  /** Answers a query with another status than its contract's. */
  answerBy: (status: number) => void;
  /** Adds headers to the answer of a query. */
  setHeaders: (headers: Record<string, string>) => void;
  /** Tells the client by `x-as-of` of which state the answer is, also where it is a refusal. */
  showAsOf: (position: Position) => void;
  /** Returns a signal that aborts once the answer was sent, or the client is gone. */
  ended: () => AbortSignal;
}

/**
 * W3C Trace Context: version, trace, parent, flags. Version ff and all zeros are invalid; later versions may have more.
 */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;

/** Returns the information on a request, besides its contents, for its handler. */
export const requestContext = (request: FastifyRequest): RequestContext => ({
  requestId: request.id,
  ip: request.ip,
  userAgent: request.headers['user-agent'],
  onceId: request.onceId,
  header: (name) => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : undefined;
  },
  metadata: requestMetadata(request),
  showRateLimit: (status) => {
    request.rateLimit = status;
  },
  callerIsKnown: () => {
    request.callerIsKnown = true;
  },
  answerBy: (status) => {
    request.answerStatus = status;
  },
  setHeaders: (headers) => {
    request.answerHeaders = { ...request.answerHeaders, ...headers };
  },
  showAsOf: (position) => {
    request.shownAsOf = position;
  },
  ended: () => {
    const ending = new AbortController();
    request.whenEnded?.(() => {
      ending.abort(unavailable('the client no longer waits for the answer', undefined));
    });
    return ending.signal;
  },
});

/** Returns the metadata of the events that a request causes. */
export const requestMetadata = (request: FastifyRequest): EventMetadata => {
  const traceparent = readTraceparent(request.headers['traceparent']);
  return {
    correlationId: request.id,
    ...callerMetadata(request.caller),
    ...(traceparent !== undefined && { traceparent }),
  };
};

/** Normalises the header to version 00, the only one known here. A request without a valid header is not traced. */
const readTraceparent = (header: string | string[] | undefined): string | undefined => {
  const [, version, known, more] = TRACEPARENT.exec(String(header)) ?? [];
  return known === undefined || (version === '00' && more !== undefined) ? undefined : `00-${known}`;
};

const callerMetadata = (caller: Caller | undefined): Pick<EventMetadata, 'actor' | 'app' | 'session'> => {
  if (!caller) return { actor: { type: 'system', id: 'anonymous' } };
  if (caller.kind === 'app' || caller.kind === 'app-itself')
    return { actor: { type: 'app', id: caller.appId }, app: caller.appId };
  if (caller.kind === 'connection')
    return { actor: { type: caller.by, id: caller.userId }, ...(caller.by === 'app' && { app: caller.appId }) };
  return { actor: { type: 'user', id: caller.userId }, app: caller.appId, session: caller.sessionId };
};
