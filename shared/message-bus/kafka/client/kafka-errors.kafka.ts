import kafkajs from 'kafkajs';

/** The broker's errors for a message that it will never accept. */
const REFUSED_MESSAGES = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_TIMESTAMP', 'INVALID_RECORD']);

/** Yields the error itself and its causes, outermost first. */
const chain = function* (error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) yield cause;
};

/** Returns why a broker will never accept a message; `undefined` for any other failure. */
export const refusalOfMessage = (error: unknown): string | undefined => {
  for (const cause of chain(error)) {
    if (cause instanceof kafkajs.KafkaJSProtocolError && REFUSED_MESSAGES.has(cause.type)) return cause.message;
  }
  return undefined;
};

export const isOffsetOutOfRange = (error: unknown): boolean => error instanceof kafkajs.KafkaJSOffsetOutOfRange;

export const isLoginRefused = (error: unknown): boolean =>
  Array.from(chain(error)).some((cause) => cause.name === 'KafkaJSSASLAuthenticationError');

/** Returns the reason in one line. For topics that could not be created, only kafkajs's nested errors have it. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof kafkajs.KafkaJSAggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ');
  return error instanceof Error ? error.message : String(error);
};

/** Whether a retry may succeed. It cannot if, for example, access is denied or a message cannot be decoded. */
export const isRetriable = (error: unknown): boolean => {
  const innermost = Array.from(chain(error)).at(-1);
  // kafkajs does not retry this error, but a cluster has no coordinator while that broker is down.
  if (innermost instanceof kafkajs.KafkaJSGroupCoordinatorNotFound) return true;
  return innermost instanceof kafkajs.KafkaJSError && innermost.retriable;
};
