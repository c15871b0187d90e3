import type { FastifyReply, FastifyRequest } from 'fastify';
import { originNotAllowed, type AppOrigins } from '../../auth/app-origins.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether pages of every origin may read the answers. */
    isPublic?: boolean;
  }
}

const PREFLIGHT_KEPT_SECONDS = 600;
const allowedHeaders = [
  'x-signature',
  'x-timestamp',
  'x-api-key',
  'authorization',
  'content-type',
  'idempotency-key',
  'x-min-position',
  'x-request-id',
].join(', ');
const exposedHeaders = 'x-position, x-request-id, RateLimit, RateLimit-Policy, Retry-After, Date';

/**
 * Lets browsers read answers: pages of allowed origins, and pages of every origin on routes that need no token. Answers
 * preflights.
 * @throws Refusal origin_not_allowed
 */
export const answerCors = async (origins: AppOrigins, request: FastifyRequest, reply: FastifyReply): Promise<void> => {
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (request.routeOptions.config.isPublic) {
    reply.headers({ 'access-control-allow-origin': '*', 'access-control-expose-headers': exposedHeaders });
    return;
  }
  const isPreflight = request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
  if (!(await origins.allow(origin))) {
    if (isPreflight) throw originNotAllowed(origin);
    return;
  }
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', exposedHeaders);
  if (!isPreflight) return;
  await reply
    .headers({
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': allowedHeaders,
      'access-control-max-age': String(PREFLIGHT_KEPT_SECONDS),
    })
    .status(204)
    .send();
};
