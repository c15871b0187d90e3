import { Readable } from 'node:stream';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { requestHeaders } from '../../../schemas/http/headers.ts';
import { logRefusal } from '../../errors/log-refusal.ts';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import type { Ids } from '../../primitives/ids.ts';
import type { Settings } from '../../config/settings.ts';
import { accessLog } from './access-log.ts';
import { answerCors } from './cors.ts';
import type { AppOrigins } from '../../auth/app-origins.ts';
import { HttpConnections } from './http-connections.ts';
import { acceptJsonOnly } from './json-body.ts';
import type { PositionHeader } from '../answers/position-header.ts';
import { refusalOf } from '../answers/problem-document.ts';
import { sendProblem } from '../answers/problem.filter.ts';
import { refuseOnSocket } from './refuse-on-socket.ts';
import {
  addressAsksTooOften,
  addressKey,
  atATime,
  rateLimitHeaders,
  refuseExceeded,
  type RateLimits,
} from '../limits/rate-limits.ts';
import { RequestDeadline } from './request-deadline.ts';
import { RequestsUnderWay } from './requests-under-way.ts';
import { trustedProxies } from './trusted-proxies.ts';

const BODY_BYTES_MAX = 256 * 1_024;
/** The longest path segment is a canonical event signature, percent-encoded. */
const PATH_PART_CHARACTERS_MAX = 2_048;
/** Replaces a path that is not percent-encoded UTF-8, so that it is counted and refused like any other request. */
const UNREADABLE = '/unreadable path';

/** The only page is `/docs`, which has its own style, and loads and runs nothing. */
const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
};

/** Number of requests in flight, and whether the service is closing. */
export interface Traffic {
  inFlight: number;
  closing: boolean;
}

interface HttpServerOptions {
  settings: Pick<Settings, 'NODE_ENV' | 'TRUSTED_PROXIES' | 'RATE_LIMITS'>;
  logger: Logger;
  ids: Ids;
  origins: AppOrigins;
  limits: RateLimits;
  positions: PositionHeader;
  traffic: Traffic;
  answerWithinMs?: number;
}

/** Makes a Fastify server with the conventions of section 0 of the interface. Nest adds the routes. */
export const makeHttpServer = (options: HttpServerOptions): FastifyInstance => {
  const { settings, logger, ids, limits } = options;
  const connections = boundConnections(options);
  const server = fastify({
    bodyLimit: BODY_BYTES_MAX,
    serverFactory: (listener) => connections.serve(listener),
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: ({ headers: { 'x-request-id': given } }) => requestId(given) ?? ids.token(20),
    trustProxy: settings.TRUSTED_PROXIES.length > 0 ? settings.TRUSTED_PROXIES : false,
    rewriteUrl: ({ url = '' }) => (isReadable(url) ? url : UNREADABLE),
    routerOptions: { maxParamLength: PATH_PART_CHARACTERS_MAX },
    frameworkErrors: (error, request, reply) => {
      setHeaders(settings, request, reply);
      void limits.count('address', addressKey(request.ip)).then((status) => {
        if (status) reply.headers(rateLimitHeaders(status));
        sendProblem(logger, status?.exceeded ? addressAsksTooOften() : error, request, reply);
      });
    },
    clientErrorHandler: ({ rawPacket }, socket) => {
      void limits.count('address', addressKey(socket.remoteAddress ?? '')).then((status) => {
        connections.refuseUnreadable(socket, status?.exceeded ? addressAsksTooOften() : unreadable(), rawPacket);
      });
    },
  });
  acceptJsonOnly(server, BODY_BYTES_MAX);
  const unset = [
    'rawBody',
    'caller',
    'rateLimit',
    'deadline',
    'onceId',
    'answerStatus',
    'answerHeaders',
    'shownAsOf',
    'whenEnded',
  ] as const;
  for (const name of unset) server.decorateRequest(name, undefined);
  for (const name of ['isLast', 'callerIsKnown'] as const) server.decorateRequest(name, false);
  server.setErrorHandler((error, request, reply) => {
    sendProblem(logger, error, request, reply);
  });
  server.setNotFoundHandler((request, reply) => {
    const refusal =
      request.url === UNREADABLE
        ? new Refusal('validation_failed', 'the path is not percent-encoded UTF-8')
        : new Refusal('route_not_found', 'there is no route at this path');
    sendProblem(logger, refusal, request, reply);
  });
  answerInTime(server, connections, options);
  admit(server, connections, options);
  finishAnswers(server, options);
  server.addHook('onResponse', accessLog(logger));
  return server;
};

const isReadable = (url: string): boolean => {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url.split('?', 1)[0] ?? '');
    return true;
  } catch {
    return false;
  }
};

const boundConnections = ({ settings, limits, ids }: HttpServerOptions): HttpConnections =>
  new HttpConnections({
    requestsMax: atATime(settings, 'requestsPerConnection'),
    connectionsMax: atATime(settings, 'connectionsPerAddress'),
    isProxy: trustedProxies(settings),
    count: async (address, requests) =>
      (await limits.count('address', addressKey(address), requests))?.exceeded ?? false,
    isExceeded: async (address) => (await limits.peek('address', addressKey(address)))?.exceeded ?? false,
    refuse: (socket, refusal, isHead) => {
      refuseOnSocket(socket, refusal, ids.token(20), isHead);
    },
  });

/** Refuses a request whose answer has not started in time. Work in progress continues. */
const answerInTime = (
  server: FastifyInstance,
  connections: HttpConnections,
  { logger, answerWithinMs }: HttpServerOptions,
): void => {
  server.addHook('onRequest', (request, reply, done) => {
    const deadline = new RequestDeadline(() => {
      sendProblem(
        logger,
        unavailable('a dependency of this request did not answer in time', undefined),
        request,
        reply,
      );
    }, answerWithinMs);
    request.deadline = deadline;
    request.whenEnded = (callback) => {
      connections.whenEnded(reply.raw, callback);
    };
    request.whenEnded(() => {
      deadline.end();
    });
    done();
  });
  server.addHook('preParsing', (request, _reply, _payload, done) => {
    request.deadline?.pause();
    done();
  });
  server.addHook('preValidation', (request, _reply, done) => {
    request.deadline?.resume();
    done();
  });
};

/** Counts every request by address before anything is read, and handles CORS. */
const admit = (
  server: FastifyInstance,
  connections: HttpConnections,
  { settings, origins, limits, traffic }: HttpServerOptions,
): void => {
  const underWay = new RequestsUnderWay(atATime(settings, 'requestsPerAddress'));
  server.addHook('onRequest', async (request, reply) => {
    setHeaders(settings, request, reply);
    traffic.inFlight += 1;
    // Also called when the client disconnects, of which Fastify does not notify us.
    connections.whenEnded(reply.raw, () => {
      traffic.inFlight -= 1;
    });
    const refusal = connections.refusalOf(request.raw) ?? (traffic.closing ? stopping() : undefined);
    request.isLast = refusal !== undefined;
    if (refusal) reply.header('connection', 'close');
    const address = addressKey(request.ip);
    request.rateLimit = await limits.count('address', address);
    refuseExceeded(request.rateLimit);
    if (refusal) throw refusal;
    connections.whenEnded(reply.raw, underWay.begin(address));
    // With limits off, an address is not restricted to one request per tick.
    if (request.rateLimit) await underWay.waitForTick(address);
    await answerCors(origins, request, reply);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload === 'string') {
      connections.whenEnded(reply.raw, underWay.answered(addressKey(request.ip), payload.length));
    }
    done(null, payload);
  });
};

/**
 * Sends the headers of a streamed answer before its first chunk, if that takes long. A failure before that is answered
 * with a problem document.
 */
const beginInTime = (stream: Readable, request: FastifyRequest, reply: FastifyReply, logger: Logger): void => {
  request.deadline?.instead(() => {
    reply.raw.flushHeaders();
  });
  stream.once('error', (error) => {
    if (reply.raw.headersSent) logRefusal(logger, refusalOf(error), { requestId: request.id }, 'an answer was cut');
  });
};

/** Sets the headers that depend on the outcome of the request. */
const finishAnswers = (server: FastifyInstance, { positions, traffic, logger }: HttpServerOptions): void => {
  server.addHook('onSend', (request, reply, payload, done) => {
    if (payload instanceof Readable) beginInTime(payload, request, reply, logger);
    else request.deadline?.end();
    // Fastify closes the connection after a refused body, and a client that is still sending would lose the answer.
    // Remove the header only if Fastify has set it: without a header, Node does not say how long the connection is
    // kept.
    if (reply.hasHeader('connection') && !traffic.closing && !request.isLast) reply.removeHeader('connection');
    if (request.rateLimit) reply.headers(rateLimitHeaders(request.rateLimit));
    if (request.shownAsOf !== undefined) reply.header('x-as-of', String(request.shownAsOf));
    if (!request.callerIsKnown || reply.statusCode >= 500) {
      done(null, payload);
      return;
    }
    void positions.newest().then((position) => {
      if (position !== undefined) reply.header('x-position', position);
      done(null, payload);
    });
  });
};

const setHeaders = ({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>, request: FastifyRequest, reply: FastifyReply): void => {
  void reply.headers(securityHeaders).header('x-request-id', request.id).header('vary', 'origin');
  if (NODE_ENV === 'production') reply.header('strict-transport-security', 'max-age=31536000');
};

const requestId = (given: string | string[] | undefined): string | undefined =>
  typeof given === 'string' && requestHeaders['x-request-id'].pattern.test(given) ? given : undefined;

const stopping = (): Refusal => new Refusal('shutting_down', 'the service is stopping', { retryAfter: 1 });
const unreadable = (): Refusal =>
  new Refusal('validation_failed', 'the request cannot be read as HTTP, or its headers are too large or too slow');
