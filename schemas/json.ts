import { z } from 'zod';

/** A JSON value, as in events, messages and documents. Never a `bigint`, a `Date` or `undefined`. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };
/** Of what was parsed, or has that type: it is not looked through. */
export const anyJson: z.ZodType<JsonValue> = z.any();
export const anyJsonObject: z.ZodType<JsonObject> = z.looseObject({}) as z.ZodType<JsonObject>;
