import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { FieldError } from '../../../schemas/http/problem.ts';
import { readMembers } from './read-members.ts';

const errorsOf = (schema: z.ZodType, value: unknown): string[] => {
  const errors: FieldError[] = [];
  expect(readMembers(schema, value, { whole: 'body', errors })).toBeUndefined();
  return errors.map(({ path, message }) => `${path} ${message}`);
};

describe('what is wrong with a request', () => {
  it('is said in plain words', () => {
    const schema = z.object({
      name: z.string(),
      email: z.string(),
      take: z.coerce.number(),
      blocks: z.int(),
      part: z.number().min(1),
      chainId: z.int().positive(),
      whole: z.number().max(1000),
      order: z.enum(['asc', 'desc']),
      isDry: z.boolean(),
      tags: z.array(z.string()).max(1),
      key: z.string().min(3),
    });
    const value = { email: 5, take: 'ten', blocks: 1.5, part: 0, chainId: 0, whole: 1001, order: 'up', isDry: 'yes' };
    expect(errorsOf(schema, { ...value, tags: ['a', 'b'], key: 'a' })).toEqual([
      'name is required',
      'email is not a text',
      'take is not a number',
      'blocks is not a whole number',
      'part is less than 1',
      'chainId is not more than 0',
      'whole is more than 1000',
      'order is not asc or desc',
      'isDry is not true or false',
      'tags is longer than 1',
      'key is shorter than 3',
    ]);
    expect(errorsOf(schema, [])).toEqual(['body is not an object']);
  });

  it('is said as its schema says it, where that does', () => {
    const schema = z.object({ id: z.string('is not an id'), token: z.string().min(3, 'is too short') });
    expect(errorsOf(schema, { token: '' })).toEqual(['id is not an id', 'token is too short']);
  });
});
