import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { safeParse } from './safe-parse.ts';

const incomparable = JSON.parse('{"length":{"valueOf":1,"toString":1}}') as unknown;

describe('a value that others made', () => {
  it.each([
    ['a text', z.string().max(5)],
    ['a list', z.array(z.string()).min(1)],
    ['a member', z.object({ member: z.string().max(5) })],
  ])('does not fit in the place of %s when its length cannot be compared', (_, schema) => {
    const value = schema instanceof z.ZodObject ? { member: incomparable } : incomparable;
    expect(() => schema.safeParse(value)).toThrow(TypeError);
    const { success, error } = safeParse(schema, value);
    expect([success, error?.issues[0]?.message]).toEqual([false, 'has a length that is not a number']);
  });

  it('is read as zod reads it otherwise', () => {
    expect(safeParse(z.string().max(5), 'text')).toEqual({ success: true, data: 'text' });
    expect(safeParse(z.string().max(5), 'longer').error?.issues).toMatchObject([{ code: 'too_big' }]);
  });

  it('throws what a check of ours throws', () => {
    const broken = z.string().refine(() => {
      throw new TypeError('a fault of ours');
    });
    expect(() => safeParse(broken, 'text')).toThrow('a fault of ours');
  });
});
