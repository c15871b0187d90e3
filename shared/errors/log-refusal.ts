import { pino, type Logger } from 'pino';
import type { Refusal } from './refusal.ts';

/**
 * Says what a caller is told only as a code. A fault of ours is shown whole; what is away is named in a line, for it may
 * be said as often as somebody asks.
 */
export const logRefusal = (logger: Logger, refusal: Refusal, about: object, message: string): void => {
  const { code, cause } = refusal;
  if (code === 'internal_error') logger.error({ ...about, code, err: cause ?? refusal }, message);
  else logger.warn({ ...about, code, reason: pino.stdSerializers.err(refusal).message }, message);
};
