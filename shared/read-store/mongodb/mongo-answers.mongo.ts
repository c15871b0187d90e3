import { BSON, MongoBulkWriteError, MongoError, MongoInvalidArgumentError, MongoServerError } from 'mongodb';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../../primitives/waiting/within-deadline.ts';
import { encodeDocument } from './mongo-document.ts';
import type { DocumentChange } from '../read-store.ts';

const DUPLICATE_KEY = 11_000;

/** Returns the answer to a call. @throws DeadlineExceeded when it does not arrive in time */
export const beforeDeadline = <Answer>(call: Promise<Answer>, answerMs: number): Promise<Answer> =>
  withinDeadline('a call', answerMs, call);

/**
 * Returns the answer to a call. A call without an answer may still take effect, so the caller must be able to repeat
 * it.
 * @throws Refusal dependency_unavailable if no answer arrives in time, or the server cannot do it
 */
export const answered = async <Answer>(call: Promise<Answer>, answerMs: number): Promise<Answer> => {
  try {
    return await beforeDeadline(call, answerMs);
  } catch (cause) {
    const isTheirs = cause instanceof DeadlineExceeded || (cause instanceof MongoError && !isOurs(cause));
    if (!isTheirs) throw cause;
    throw unavailable('the read store does not answer', cause);
  }
};

/** Rethrows a failure of the connection as a refusal, and any other one as it is. @throws Refusal dependency_unavailable */
export const notReached = (cause: unknown): never => {
  const isAway = cause instanceof MongoError && !(cause instanceof MongoServerError) && !isOurs(cause);
  throw isAway ? unavailable('the read store does not answer', cause) : cause;
};

/** Whether the driver itself refused the call. A repeated call would be refused again. */
const isOurs = (error: MongoError): boolean => error instanceof MongoInvalidArgumentError;

/** Treats a duplicate key as an answer, and rethrows any other failure. */
export const unlessDuplicate =
  <Answer>(answer: Answer) =>
  (error: unknown): Answer => {
    if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return answer;
    throw error;
  };

/**
 * Returns the bulk writes that failed because of a duplicate key. That is certain only if the error names single
 * writes: after a broken connection, or without the answer of a majority, it names none, and no write can be relied on.
 */
export const duplicatesAmong =
  <Written>(written: readonly Written[]) =>
  (error: unknown): Written[] => {
    const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (failed.length === 0 || failed.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
    return failed.flatMap(({ index }) => written[index] ?? []);
  };

/** Maximum size of a document: the command that writes it has 16 MiB, less its other parts. */
const DOCUMENT_BYTES_MAX = 16 * 2 ** 20 - 1_024;

/** Names the document that is too large, because the driver's error at most says that something is. */
export const nameTooLarge =
  (written: readonly DocumentChange[]) =>
  (cause: unknown): never => {
    if (cause instanceof Refusal) throw cause;
    for (const { collection, id, document } of written) {
      const bytes = BSON.calculateObjectSize(encodeDocument(document));
      if (bytes <= DOCUMENT_BYTES_MAX) continue;
      const what = `document ${id} of ${collection} cannot be stored`;
      throw new Error(`${what}: it has ${String(bytes)} bytes, and MongoDB allows 16 MiB`, { cause });
    }
    throw cause;
  };
