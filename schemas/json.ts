import { z } from 'zod';

/** A JSON value, as in events, messages and documents. Never a `bigint`, a `Date` or `undefined`. */
export const jsonValue = z.json();
export type JsonValue = z.infer<typeof jsonValue>;
export type JsonObject = { [key: string]: JsonValue };
