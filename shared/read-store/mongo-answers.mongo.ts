import { BSON, MongoBulkWriteError, MongoError, MongoInvalidArgumentError, MongoServerError } from 'mongodb';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../primitives/within-deadline.ts';
import { encodeDocument } from './mongo-document.ts';
import type { DocumentChange } from './read-store.ts';

/** The driver keeps no deadline: its `timeoutMS` has no effect since 7.0. */
const DEADLINE_MS = 4_500;
const DUPLICATE_KEY = 11_000;

/** The answer to a call, if it comes in time. @throws DeadlineExceeded */
export const beforeDeadline = <Answer>(asked: Promise<Answer>): Promise<Answer> =>
  withinDeadline('a call', DEADLINE_MS, asked);

/**
 * The answer to a call. One that is late may still take effect: whoever asks again must bear that.
 * @throws Refusal dependency_unavailable: there is none in time, or it is that the server cannot
 */
export const answered = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
  try {
    return await beforeDeadline(asked);
  } catch (cause) {
    const isTheirs = cause instanceof DeadlineExceeded || (cause instanceof MongoError && !isOurs(cause));
    if (!isTheirs) throw cause;
    throw unavailable('the read store does not answer', cause);
  }
};

/** What the driver refuses to send will be refused again. */
const isOurs = (error: MongoError): boolean => error instanceof MongoInvalidArgumentError;

/** Takes a duplicate key for an answer, and no other failure. */
export const unlessDuplicate =
  <Answer>(answer: Answer) =>
  (error: unknown): Answer => {
    if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return answer;
    throw error;
  };

/**
 * Of what was written in bulk, what met a duplicate key. Only a failure that says so of single writes is one: a broken
 * connection, or a majority that did not answer, names no write at all, and then none can be relied on.
 */
export const duplicatesAmong =
  <Written>(written: readonly Written[]) =>
  (error: unknown): Written[] => {
    const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (failed.length === 0 || failed.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
    return failed.flatMap(({ index }) => written[index] ?? []);
  };

/** 16 MiB for a command that writes one, without what is around it. */
const DOCUMENT_BYTES_MAX = 16 * 2 ** 20 - 1_024;

/** The driver says that something is too large, if at all, and not what. */
export const nameTooLarge =
  (written: readonly DocumentChange[]) =>
  (cause: unknown): never => {
    if (cause instanceof Refusal) throw cause;
    for (const { collection, id, document } of written) {
      const bytes = BSON.calculateObjectSize(encodeDocument(document));
      if (bytes <= DOCUMENT_BYTES_MAX) continue;
      const what = `document ${id} of ${collection} cannot be stored`;
      throw new Error(`${what}: it has ${String(bytes)} bytes, and MongoDB takes 16 MiB`, { cause });
    }
    throw cause;
  };
