import { z } from 'zod';

/** A JSON value: what an event, a message or a document may hold. Never a `bigint`, a `Date` or `undefined`. */
export const jsonValue = z.json();
export type JsonValue = z.infer<typeof jsonValue>;
export type JsonObject = { [key: string]: JsonValue };
