import { describe, expect, it } from '@jest/globals';
import { fetchFailure } from './fetch-failure.ts';

describe('the reason of a failed fetch', () => {
  const failed = (cause: unknown) => new TypeError('fetch failed', { cause });
  const refused = Object.assign(new Error('connect ECONNREFUSED node.example:443'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  it.each<[unknown, string]>([
    [failed(refused), 'connect ECONNREFUSED'],
    [failed(Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED'],
    [failed(new Error('other side closed')), 'other side closed'],
    [new TypeError('fetch failed'), 'fetch failed'],
    ['text', 'text'],
    [undefined, 'undefined'],
  ])('of %p is %j', (error, reason) => {
    expect(fetchFailure(error)).toBe(reason);
  });
});
