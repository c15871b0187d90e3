import type { FastifyRequest } from 'fastify';
import type { EventMetadata } from '../../schemas/events/event.ts';
import type { Caller } from '../auth/caller.ts';
import type { RateLimitStatus } from './rate-limits.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came, for what is signed or compared byte by byte. */
    rawBody: Buffer | undefined;
    /** Set by the admission guard. */
    caller: Caller | undefined;
    /** The limit that counted this request; shown in the answer's headers. */
    rateLimit: RateLimitStatus | undefined;
  }
}

/** What a handler may know of the request beside its contents. */
export interface RequestContext {
  requestId: string;
  /** Of the client, through trusted proxies. */
  ip: string;
  userAgent: string | undefined;
  /** What to store with the events that this request causes. */
  metadata: EventMetadata;
  /** Says in the answer's headers how much of a limit is left, where the route counts by itself. */
  showRateLimit: (status: RateLimitStatus | undefined) => void;
}

/** W3C Trace Context: version, then trace, parent and flags. Version ff, and zeros alone, are none; a later one may have more. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;

/** What a handler may know of a request beside its contents. */
export const requestContext = (request: FastifyRequest): RequestContext => ({
  requestId: request.id,
  ip: request.ip,
  userAgent: request.headers['user-agent'],
  metadata: requestMetadata(request),
  showRateLimit: (status) => {
    request.rateLimit = status;
  },
});

/** Metadata of the events that a request causes. */
export const requestMetadata = (request: FastifyRequest): EventMetadata => {
  const traceparent = readTraceparent(request.headers['traceparent']);
  return {
    correlationId: request.id,
    ...callerMetadata(request.caller),
    ...(traceparent !== undefined && { traceparent }),
  };
};

/** As version 00, which is the one that is known here; without a valid one the request is not traced. */
const readTraceparent = (header: string | string[] | undefined): string | undefined => {
  const [, version, known, more] = TRACEPARENT.exec(String(header)) ?? [];
  return known === undefined || (version === '00' && more !== undefined) ? undefined : `00-${known}`;
};

const callerMetadata = (caller: Caller | undefined): Pick<EventMetadata, 'actor' | 'app' | 'session'> => {
  if (!caller) return { actor: { type: 'system', id: 'anonymous' } };
  if (caller.kind === 'app') return { actor: { type: 'app', id: caller.appId }, app: caller.appId };
  return { actor: { type: 'user', id: caller.userId }, app: caller.appId, session: caller.sessionId };
};
