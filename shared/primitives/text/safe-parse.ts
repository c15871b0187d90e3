import type { z } from 'zod';

/** V8's message for an object that has no primitive value. */
const NO_PRIMITIVE = 'Cannot convert object to primitive value';

type Parsed<Value> =
  | { success: true; data: Value; error?: undefined }
  | { success: false; data?: undefined; error: { issues: readonly z.core.$ZodIssue[] } };

/**
 * `safeParse` for values that others made. zod compares the `length` of any value that has one, and an object of JSON
 * may have a `length` that cannot be compared, for which zod throws. Reports such a value as invalid.
 */
export const safeParse = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  params?: Parameters<Schema['safeParse']>[1],
): Parsed<z.output<Schema>> => {
  try {
    return schema.safeParse(value, params);
  } catch (error) {
    if (!(error instanceof TypeError && error.message === NO_PRIMITIVE)) throw error;
    const message = 'has a length that is not a number';
    return { success: false, error: { issues: [{ code: 'custom', path: [], input: value, message }] } };
  }
};
