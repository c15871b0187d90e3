import type { onResponseHookHandler } from 'fastify';
import type { Logger } from 'pino';
import { LogThrottle } from '../../primitives/log-throttle.ts';

/**
 * Logs the route's pattern instead of the URL, because ids and queries may be personal data. Throttles the lines of an
 * address that exceeds its limit.
 */
export const accessLog = (logger: Logger): onResponseHookHandler => {
  const throttle = new LogThrottle();
  return (request, reply, done) => {
    const { rateLimit } = request;
    if (rateLimit?.name === 'address' && rateLimit.exceeded) {
      const message = 'an address asks too often and is refused';
      if (throttle.isDue(message)) logger.warn(message);
    } else {
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
    }
    done();
  };
};
