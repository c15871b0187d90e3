import type { z } from 'zod';
import type { FieldError } from '../../../schemas/http/problem.ts';
import { plainText } from '../../errors/plain-text.ts';
import { safeParse } from '../../primitives/text/safe-parse.ts';

/**
 * Parses a value from a client.
 * @param whole what messages call the value itself
 * @returns `undefined` if there are errors
 */
export const readMembers = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { whole, errors }: { whole: string; errors: FieldError[] },
): z.output<Schema> | undefined => {
  const result = safeParse(schema, value, { error: plainText });
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues) errors.push({ path: path.join('.') || whole, message });
  return undefined;
};
