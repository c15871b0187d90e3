import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Refusal } from '../errors/refusal.ts';
import type { Ids } from '../primitives/ids.ts';
import type { Settings } from '../config/settings.ts';
import { answerCors } from './cors.ts';
import type { AppOrigins } from '../auth/app-origins.ts';
import { acceptJsonOnly } from './json-body.ts';
import { problemOf } from './problem-document.ts';
import { sendProblem } from './problem.filter.ts';
import { rateLimitHeaders } from './rate-limits.ts';

const BODY_BYTES_MAX = 256 * 1_024;
/** The longest part of a path is a canonical event signature, percent-encoded. */
const PATH_PART_CHARACTERS_MAX = 2_048;
const REQUEST_TIMEOUT_MS = 30_000;

/** The only page is `/docs`, which brings its own scripts. */
const securityHeaders = {
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

/** Counts the requests in flight, and tells whether the service still accepts requests. */
export interface Traffic {
  inFlight: number;
  closing: boolean;
}

interface HttpServerOptions {
  settings: Pick<Settings, 'NODE_ENV' | 'TRUSTED_PROXIES'>;
  logger: Logger;
  ids: Ids;
  origins: AppOrigins;
  traffic: Traffic;
}

/** Makes a Fastify server with the conventions of section 0 of the interface. Nest adds the routes. */
export const makeHttpServer = (options: HttpServerOptions): FastifyInstance => {
  const { settings, logger, ids, origins, traffic } = options;
  const headers = (request: FastifyRequest, reply: FastifyReply): void => {
    void reply.headers(securityHeaders).header('x-request-id', request.id).header('vary', 'origin');
    if (settings.NODE_ENV === 'production') reply.header('strict-transport-security', 'max-age=31536000');
  };
  const server = fastify({
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: ({ headers: { 'x-request-id': given } }) => requestId(given) ?? ids.token(20),
    trustProxy: settings.TRUSTED_PROXIES.length > 0 ? settings.TRUSTED_PROXIES : false,
    routerOptions: { maxParamLength: PATH_PART_CHARACTERS_MAX },
    frameworkErrors: (error, request, reply) => {
      headers(request, reply);
      sendProblem(logger, error, request, reply);
    },
    clientErrorHandler: (_error, socket) => {
      answerUnreadable(socket, ids.token(20));
    },
  });
  acceptJsonOnly(server, BODY_BYTES_MAX);
  server.decorateRequest('rawBody', undefined);
  server.decorateRequest('caller', undefined);
  server.decorateRequest('rateLimit', undefined);
  server.setErrorHandler((error, request, reply) => {
    sendProblem(logger, error, request, reply);
  });
  server.setNotFoundHandler((request, reply) => {
    sendProblem(logger, new Refusal('route_not_found', 'nothing is at this path'), request, reply);
  });
  server.addHook('onRequest', async (request, reply) => {
    headers(request, reply);
    traffic.inFlight += 1;
    // Also when the caller disconnects, of which Fastify does not notify us.
    reply.raw.once('close', () => {
      traffic.inFlight -= 1;
    });
    if (traffic.closing) {
      reply.header('connection', 'close');
      throw new Refusal('shutting_down', 'the service is stopping', { retryAfter: 1 });
    }
    await answerCors(origins, request, reply);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    // Fastify closes the connection after a refused body, and a caller that is still sending would lose the answer.
    if (!traffic.closing) reply.removeHeader('connection');
    if (request.rateLimit) reply.headers(rateLimitHeaders(request.rateLimit));
    done(null, payload);
  });
  server.addHook('onResponse', (request, reply, done) => {
    logAccess(logger, request, reply);
    done();
  });
  return server;
};

/** Logs the route's pattern instead of the address: ids and queries may be personal data. */
const logAccess = (logger: Logger, request: FastifyRequest, reply: FastifyReply): void => {
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
    },
    'answered',
  );
};

const requestId = (given: string | string[] | undefined): string | undefined =>
  typeof given === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : undefined;

/** Invalid HTTP has no request object, so the answer is written to the socket. */
const answerUnreadable = (socket: Socket, id: string): void => {
  if (!socket.writable) return;
  const refusal = new Refusal('validation_failed', 'the request cannot be read as HTTP, or its headers are too large');
  const body = JSON.stringify(problemOf(refusal, id));
  const lines = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/problem+json',
    `content-length: ${String(Buffer.byteLength(body))}`,
    `x-request-id: ${id}`,
    'connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
};
