import type { z } from 'zod';
import { problemCatalogue, type FieldError } from '../../../schemas/http/problem.ts';
import type { CommandRefused, ConnectionRefused } from '../../../schemas/socket/stream-commands.ts';
import { refusalOf } from '../../../shared/edge/answers/problem-document.ts';
import { readMembers } from '../../../shared/edge/requests/read-members.ts';
import { logRefusal } from '../../../shared/errors/log-refusal.ts';
import type { Logger } from 'pino';
import { invalid, type Refusal } from '../../../shared/errors/refusal.ts';

/** Maximum errors that are reported for a command. */
const ERRORS_MAX = 20;

/** Parses the payload of a command. @throws Refusal validation_failed */
export const parseCommand = <Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> => {
  const errors: FieldError[] = [];
  const parsed = readMembers(schema, payload, { whole: 'payload', errors });
  if (parsed === undefined) throw invalid(...errors.slice(0, ERRORS_MAX));
  return parsed;
};

/** Returns the refusal for an error, and logs it if the server is at fault. */
export const toLoggedRefusal = (logger: Logger, error: unknown): Refusal => {
  const refusal = refusalOf(error);
  if (problemCatalogue[refusal.code].status >= 500) logRefusal(logger, refusal, {}, 'a client was refused');
  return refusal;
};

export const commandRefusal = (refusal: Refusal): CommandRefused => ({ ok: false, error: connectionRefusal(refusal) });

export const connectionRefusal = ({ code, detail, retryAfter }: Refusal): ConnectionRefused => ({
  code,
  title: problemCatalogue[code].title,
  detail,
  ...(retryAfter !== undefined && { retryAfter }),
});
