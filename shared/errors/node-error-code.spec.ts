import { expect, it } from '@jest/globals';
import { nodeErrorCode } from './node-error-code.ts';

it.each([
  [Object.assign(new Error('no file'), { code: 'ENOENT' }), 'ENOENT'],
  [Object.assign(new Error('duplicate key'), { code: 11_000 }), undefined],
  [new Error('without a code'), undefined],
  ['ENOENT', undefined],
  [null, undefined],
  [undefined, undefined],
])('the code of %p is %p', (error, code) => {
  expect(nodeErrorCode(error)).toBe(code);
});
