import { pino, type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from '../config/settings.ts';

export type { Logger };

/** Drops members that drivers add to their errors: whole topologies and requests, possibly with personal data. */
export const loggedError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = pino.stdSerializers.err(error);
  return {
    type,
    message,
    stack,
    ...('code' in error && { code: error.code }),
    ...(error instanceof AggregateError && { errors: error.errors.map(loggedError) }),
  };
};

/** JSON lines in production, readable lines elsewhere. Both go to standard error: standard output is for results. */
export const createLogger = ({ LOG_LEVEL, NODE_ENV }: Pick<Settings, 'LOG_LEVEL' | 'NODE_ENV'>): Logger => {
  const options = { level: LOG_LEVEL, base: null, serializers: { err: loggedError } };
  const standardError = 2;
  return NODE_ENV === 'production'
    ? pino(options, pino.destination(standardError))
    : pino(
        options,
        pretty({
          destination: standardError,
          sync: true,
          singleLine: true,
          ignore: 'pid,hostname',
          translateTime: 'HH:MM:ss.l',
        }),
      );
};
