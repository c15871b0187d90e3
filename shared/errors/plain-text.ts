import type { z } from 'zod';

const KINDS: Partial<Record<string, string>> = {
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  number: 'a number',
  int: 'a whole number',
};

/** Turns zod's issues into plain sentences. A message that stands in a schema takes precedence. */
export const plainText: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `is not ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `is not ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      if (!isNumber(issue.origin)) return `is shorter than ${String(issue.minimum)}`;
      return `is ${issue.inclusive === false ? 'not more' : 'less'} than ${String(issue.minimum)}`;
    case 'too_big':
      if (!isNumber(issue.origin)) return `is longer than ${String(issue.maximum)}`;
      return `is ${issue.inclusive === false ? 'not less' : 'more'} than ${String(issue.maximum)}`;
    case 'unrecognized_keys':
      return `has members that are not known: ${issue.keys.join(', ')}`;
    case 'invalid_union': {
      // The last option of a union is the one that describes most of its values.
      const [first] = issue.errors.at(-1) ?? [];
      return first && [...first.path, first.message].join(': ');
    }
    case 'invalid_format':
      return issue.format === 'url' ? 'is not a URL' : undefined;
    default:
      return undefined;
  }
};

const isNumber = (origin: string): boolean => origin === 'number' || origin === 'int' || origin === 'bigint';
