import type { z } from 'zod';
import type { FieldError } from '../../schemas/http/problem.ts';

/** Parses what a client sent. @param whole what the value itself is called @returns `undefined` if there are errors */
export const readMembers = <Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { whole, errors }: { whole: string; errors: FieldError[] },
): z.output<Schema> | undefined => {
  const result = schema.safeParse(value, { error: plainText });
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues) errors.push({ path: path.join('.') || whole, message });
  return undefined;
};

const KINDS: Partial<Record<string, string>> = {
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  number: 'a number',
  int: 'a whole number',
};

/** What zod says in words of its own: messages that a schema has come first. */
const plainText: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `is not ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `is not ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return isNumber(issue.origin)
        ? `is less than ${String(issue.minimum)}`
        : `is shorter than ${String(issue.minimum)}`;
    case 'too_big':
      return isNumber(issue.origin)
        ? `is more than ${String(issue.maximum)}`
        : `is longer than ${String(issue.maximum)}`;
    default:
      return undefined;
  }
};

const isNumber = (origin: string): boolean => origin === 'number' || origin === 'int' || origin === 'bigint';
