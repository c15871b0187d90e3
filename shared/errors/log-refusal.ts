import { pino, type Logger } from 'pino';
import type { Refusal } from './refusal.ts';

/**
 * Logs the cause of a refusal, of which the caller receives only a code. Logs a fault of ours with its stack, and an
 * unavailable dependency in one line, because that may happen on every request.
 */
export const logRefusal = (logger: Logger, refusal: Refusal, about: object, message: string): void => {
  const { code, cause } = refusal;
  if (code === 'internal_error') logger.error({ ...about, code, err: cause ?? refusal }, message);
  else logger.warn({ ...about, code, reason: pino.stdSerializers.err(refusal).message }, message);
};
