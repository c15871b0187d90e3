import type { FastifyRequest } from 'fastify';
import type { AppCaller } from '../auth/caller.ts';

/** Verifies the headers of scheme H. Bound by the service that has routes for apps. */
export abstract class AppCallers {
  /** @throws Refusal, in the order of section 1 of the interface */
  abstract authenticate(request: FastifyRequest): Promise<Omit<AppCaller, 'user'>>;
}
