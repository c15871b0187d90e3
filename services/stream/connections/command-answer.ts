import type { z } from 'zod';
import { problemCatalogue } from '../../../schemas/http/problem.ts';
import type { CommandRefused, ConnectionRefused } from '../../../schemas/socket/stream-commands.ts';
import { refusalOf } from '../../../shared/edge/problem-document.ts';
import { logRefusal } from '../../../shared/errors/log-refusal.ts';
import type { Logger } from 'pino';
import { invalid, type Refusal } from '../../../shared/errors/refusal.ts';

/** How many errors of a command are reported. */
const ERRORS_MAX = 20;

/** Parses the payload of a command. @throws Refusal validation_failed */
export const parseCommand = <Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> => {
  const result = schema.safeParse(payload);
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({ path: path.join('.') || 'payload', message }));
  throw invalid(...errors.slice(0, ERRORS_MAX));
};

/** Returns the refusal for an error, and logs it when the failure is on the side of the server. */
export const toLoggedRefusal = (logger: Logger, error: unknown): Refusal => {
  const refusal = refusalOf(error);
  if (problemCatalogue[refusal.code].status >= 500) logRefusal(logger, refusal, {}, 'a client was refused');
  return refusal;
};

export const commandRefusal = (refusal: Refusal): CommandRefused => ({
  ok: false,
  error: { ...connectionRefusal(refusal), detail: refusal.detail },
});

export const connectionRefusal = ({ code, retryAfter }: Refusal): ConnectionRefused => ({
  code,
  title: problemCatalogue[code].title,
  ...(retryAfter !== undefined && { retryAfter }),
});
