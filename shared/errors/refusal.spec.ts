import { expect, it } from '@jest/globals';
import { Refusal, unavailable } from './refusal.ts';

it('a refusal has a code and says what was wrong', () => {
  const cause = new Error('refused');
  const errors = [{ path: 'origin', message: 'is missing' }];
  const refusal = new Refusal('validation_failed', 'origin is missing', { errors, retryAfter: 7, cause });
  expect(refusal).toMatchObject({
    code: 'validation_failed',
    detail: 'origin is missing',
    errors,
    retryAfter: 7,
    cause,
  });
  expect(refusal.message).toBe('validation_failed: origin is missing');
});

it('what is unavailable is worth another try in a second', () => {
  const cause = new Error('refused');
  const code = 'dependency_unavailable';
  expect(unavailable('Kafka is away', cause)).toMatchObject({ code, detail: 'Kafka is away', retryAfter: 1, cause });
});
