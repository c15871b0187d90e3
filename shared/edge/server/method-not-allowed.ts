import { METHODS } from 'node:http';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { Refusal } from '../../errors/refusal.ts';

/**
 * Answers 405 with `Allow` if a path exists and the method does not.
 * @returns a function to call after all routes are registered
 */
export const refuseOtherMethods = (server: FastifyInstance): (() => void) => {
  // Node passes on every method that it can parse, except CONNECT; Fastify supports fewer.
  const unknown = METHODS.filter((method) => method !== 'CONNECT' && !server.supportedMethods.includes(method));
  for (const method of unknown) server.addHttpMethod(method);
  const known = new Map<string, Set<string>>();
  server.addHook('onRoute', ({ method, url }) => {
    const methods = known.get(url) ?? new Set();
    [method].flat().forEach((one) => methods.add(one));
    known.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...known]) {
      const allow = [...methods].sort().join(', ');
      const others = server.supportedMethods.filter((method) => !methods.has(method)) as HTTPMethods[];
      if (others.length === 0) continue;
      server.route({
        method: others,
        url,
        onRequest: (_request, reply, done) => {
          reply.header('allow', allow);
          done(new Refusal('http_method_not_allowed', `this path allows: ${allow}`));
        },
        handler: () => undefined,
      });
    }
  };
};
