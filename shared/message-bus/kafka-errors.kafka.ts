import kafkajs from 'kafkajs';

/** What the broker says of a message that it will never take. */
const REFUSED_MESSAGES = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_TIMESTAMP', 'INVALID_RECORD']);

/** The error itself and those it was wrapped around, outermost first. */
const chain = function* (error: unknown): Generator<Error> {
  for (let cause = error; cause instanceof Error; cause = cause.cause) yield cause;
};

/** Why a broker will never take a message; `undefined` when the failure was of another kind. */
export const refusalOfMessage = (error: unknown): string | undefined => {
  for (const cause of chain(error)) {
    if (cause instanceof kafkajs.KafkaJSProtocolError && REFUSED_MESSAGES.has(cause.type)) return cause.message;
  }
  return undefined;
};

export const isOffsetOutOfRange = (error: unknown): boolean => error instanceof kafkajs.KafkaJSOffsetOutOfRange;

export const isLoginRefused = (error: unknown): boolean =>
  Array.from(chain(error)).some((cause) => cause.name === 'KafkaJSSASLAuthenticationError');

/** In one line: of the topics that could not be made, kafkajs says only further in why. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof kafkajs.KafkaJSAggregateError) return [...new Set(error.errors.map(reasonOf))].join('; ');
  return error instanceof Error ? error.message : String(error);
};

/** Whether the same may work later: not when access is denied, say, or a message cannot be read. */
export const mayPass = (error: unknown): boolean => {
  const innermost = Array.from(chain(error)).at(-1);
  // To kafkajs that is final; a cluster has none while the broker that was it is away.
  if (innermost instanceof kafkajs.KafkaJSGroupCoordinatorNotFound) return true;
  return innermost instanceof kafkajs.KafkaJSError && innermost.retriable;
};
