import { HttpException } from '@nestjs/common';
import { problemCatalogue, type Problem } from '../../schemas/http/problem.ts';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { OutcomeUnknown, WrongExpectedRevision } from '../event-store/event-store.ts';

/** The RFC 9457 document of a refusal. */
export const problemOf = (refusal: Refusal, requestId: string): Problem => {
  const { code, detail, errors, retryAfter } = refusal;
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
  };
};

/** What an answer with a problem carries beside it. */
export const problemHeaders = ({ status, retryAfter }: Problem): Record<string, string> => ({
  'content-type': 'application/problem+json',
  ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  ...(status === 401 && { 'www-authenticate': 'Bearer' }),
});

/** Any failure as a refusal. What is not known becomes `internal_error` with a fixed text and the cause kept for the log. */
export const refusalOf = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error;
  if (error instanceof OutcomeUnknown) return unavailable('the event store does not answer', error);
  if (error instanceof WrongExpectedRevision) return unavailable('too many commands at once change the same', error);
  return (
    serverRefusal(error) ?? new Refusal('internal_error', 'the request failed for a reason of ours', { cause: error })
  );
};

/** What Fastify and Nest refuse by themselves. */
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
  if (status === 404) return new Refusal('route_not_found', 'nothing is at this path');
  if (status >= 400 && status < 500)
    return new Refusal('validation_failed', 'the request cannot be read', { cause: error });
  return undefined;
};

const statusOf = (error: Error): number => {
  if (error instanceof HttpException) return error.getStatus();
  return 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
};
