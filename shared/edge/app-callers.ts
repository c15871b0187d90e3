import type { FastifyRequest } from 'fastify';
import type { AppCaller } from '../auth/caller.ts';

/** Verifies the four headers of an app's request. Bound by a service that has routes for apps. */
export abstract class AppCallers {
  /**
   * @param by the kind of key that must have signed
   * @throws Refusal for the first check that fails: key known, app live, origin allowed, timestamp, signature
   */
  abstract authenticate(request: FastifyRequest, by: 'signing key' | 'server key'): Promise<Omit<AppCaller, 'user'>>;
}
