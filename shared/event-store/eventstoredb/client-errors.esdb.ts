import { ErrorType, isCommandError, type CommandError } from '@eventstore/db-client';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { NO_STREAM, OutcomeUnknown, WrongExpectedRevision } from '../event-store.ts';

/** The gRPC status UNAVAILABLE: some errors of the channel arrive without conversion. */
const UNAVAILABLE = 14;

/**
 * Whether the error is the server's answer to one append. Any other error may concern every append on the connection.
 */
export const isAnswer = (error: unknown): boolean =>
  isOneOf(
    error,
    ErrorType.WRONG_EXPECTED_VERSION,
    ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
    ErrorType.STREAM_DELETED,
    ErrorType.ACCESS_DENIED,
    ErrorType.DEADLINE_EXCEEDED,
  );

/** Whether the client recovers by itself. After any other error it may keep returning the error that it has cached. */
export const isRecoverable = (error: unknown): boolean =>
  isOneOf(error, ErrorType.UNAVAILABLE, ErrorType.NOT_LEADER) ||
  (error instanceof Error && 'code' in error && error.code === UNAVAILABLE);

export const isMissingStream = (error: unknown): boolean =>
  isOneOf(error, ErrorType.STREAM_NOT_FOUND, ErrorType.STREAM_DELETED);

export const isAccessDenied = (error: unknown): boolean => isOneOf(error, ErrorType.ACCESS_DENIED);

/** Returns `host:port` of the leader if another node was asked. The client switches to the leader by itself. */
export const leaderNamedBy = (error: unknown): string | undefined => {
  const known = commandError(error);
  return known?.type === ErrorType.NOT_LEADER ? `${known.leader.address}:${String(known.leader.port)}` : undefined;
};

/** Converts a client error to the error that the port documents for `append`. */
export const toAppendError = (stream: string, expected: number, error: unknown): Error => {
  if (error instanceof Refusal) return error;
  const known = commandError(error);
  switch (known?.type) {
    case ErrorType.WRONG_EXPECTED_VERSION: {
      const { actualVersion } = known;
      const actual = actualVersion === 'no_stream' ? NO_STREAM : Number(actualVersion);
      return new WrongExpectedRevision(stream, expected, actual);
    }
    case ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED: {
      const limit = `the ${String(known.maxAppendSize)} bytes that the event store accepts in one append`;
      return new RangeError(`an append to ${stream} is larger than ${limit}`, { cause: error });
    }
    case ErrorType.STREAM_DELETED:
    case ErrorType.ACCESS_DENIED:
      return unavailable(`the event store refuses appends to ${stream}: ${describe(error)}`, error);
    default:
      return new OutcomeUnknown(`whether ${stream} was appended to is not known: ${describe(error)}`, { cause: error });
  }
};

/** Describes an error in one line. The client's messages are often empty, and never contain a password. */
export const describe = (error: unknown): string => {
  const message = error instanceof Error ? error.message.split('\n')[0] : undefined;
  return [commandError(error)?.type, message].filter((part) => part).join(', ') || 'no reason given';
};

const isOneOf = (error: unknown, ...types: ErrorType[]): boolean => {
  const known = commandError(error);
  return known !== undefined && types.includes(known.type);
};

const commandError = (error: unknown): CommandError | undefined =>
  error instanceof Error && isCommandError(error) ? error : undefined;
