import { z } from 'zod';

/** A JSON value, as in events, messages and documents. Never a `bigint`, a `Date` or `undefined`. */
export const jsonValue = z.json();
export type JsonValue = z.infer<typeof jsonValue>;
/** The same of a text that was parsed already: documents then say any JSON, where `jsonValue` is a schema of itself. */
export const anyJson: z.ZodType<JsonValue> = z.any();
export type JsonObject = { [key: string]: JsonValue };
