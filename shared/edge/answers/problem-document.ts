import { HttpException } from '@nestjs/common';
import { problemCatalogue, type Problem } from '../../../schemas/http/problem.ts';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { OutcomeUnknown, WrongExpectedRevision } from '../../event-store/event-store.ts';

/** Returns the RFC 9457 document of a refusal. */
export const problemOf = (refusal: Refusal, requestId: string): Problem => {
  const { code, detail, errors, retryAfter, members } = refusal;
  const { status, title } = problemCatalogue[code];
  return {
    type: `https://annals.dev/errors/${code}`,
    title,
    status,
    detail,
    instance: requestId,
    code,
    ...(errors && { errors }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...members,
  };
};

/** Returns the headers of an answer with a problem document. */
export const problemHeaders = ({ status, retryAfter }: Problem): Record<string, string> => ({
  'content-type': 'application/problem+json',
  ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  ...(status === 401 && { 'www-authenticate': 'Bearer' }),
});

/**
 * Converts any failure to a refusal. An unknown error becomes `internal_error` with a fixed text; its cause is kept for
 * the log.
 */
export const refusalOf = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error;
  if (error instanceof OutcomeUnknown) return unavailable('the event store does not answer', error);
  if (error instanceof WrongExpectedRevision)
    return unavailable('too many concurrent commands change the same stream', error);
  return (
    serverRefusal(error) ??
    new Refusal('internal_error', 'the request failed because of an internal error', { cause: error })
  );
};

/** Converts the errors of Fastify and Nest. */
const serverRefusal = (error: unknown): Refusal | undefined => {
  if (!(error instanceof Error)) return undefined;
  switch ('code' in error ? error.code : undefined) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Refusal('content_type_not_json', 'send content-type: application/json');
    case 'FST_ERR_BAD_URL':
      return new Refusal('validation_failed', 'the path is not percent-encoded UTF-8');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Refusal('validation_failed', 'a part of the path is too long');
  }
  const status = statusOf(error);
  if (status === 404) return new Refusal('route_not_found', 'there is no route at this path');
  if (status >= 400 && status < 500)
    return new Refusal('validation_failed', 'the request cannot be read', { cause: error });
  return undefined;
};

const statusOf = (error: Error): number => {
  if (error instanceof HttpException) return error.getStatus();
  return 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
};
