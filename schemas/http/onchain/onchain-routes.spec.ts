import { describe, expect, it } from '@jest/globals';
import { transactionRequest } from './onchain-routes.ts';

const to = '0x1234567890AbcdEF1234567890aBcdef12345678';
const asked = (transactionReq: object, more: object = {}): object => ({
  chainId: 2484,
  sponsor: true,
  transactionReq: { to, ...transactionReq },
  ...more,
});
const refusalOf = (body: unknown): (readonly [path: string, message: string])[] =>
  transactionRequest.safeParse(body).error?.issues.map(({ path, message }) => [path.join('.'), message] as const) ?? [];

describe('the body of a send', () => {
  it('needs no more than a chain, whether it is sponsored, and whom it calls', () => {
    expect(transactionRequest.parse(asked({}))).toEqual({
      chainId: 2484,
      sponsor: true,
      transactionReq: { to, value: '0', data: '0x' },
    });
  });

  it('reads data in any letter case, up to 32 KiB', () => {
    expect(transactionRequest.parse(asked({ data: '0xABcd' })).transactionReq.data).toBe('0xabcd');
    expect(refusalOf(asked({ data: `0x${'00'.repeat(32_768)}` }))).toEqual([]);
    expect(refusalOf(asked({ data: `0x${'00'.repeat(32_769)}` }))).toEqual([
      ['transactionReq.data', 'is more than 32 KiB'],
    ]);
  });

  it.each([
    [{ value: 'abc' }, 'transactionReq.value', 'is not an amount: decimal digits, without zeros in front'],
    [{ value: '0x1' }, 'transactionReq.value', 'is not an amount: decimal digits, without zeros in front'],
    [{ value: '-1' }, 'transactionReq.value', 'is not an amount: decimal digits, without zeros in front'],
    [{ value: String(2n ** 256n) }, 'transactionReq.value', 'is 2^256 or more'],
    [
      { maxPriorityFeePerGas: '1e9' },
      'transactionReq.maxPriorityFeePerGas',
      'is not an amount: decimal digits, without zeros in front',
    ],
    [{ maxPriorityFeePerGas: String(2n ** 64n) }, 'transactionReq.maxPriorityFeePerGas', 'is 2^64 or more'],
    [{ data: '0xabc' }, 'transactionReq.data', 'is not bytes: 0x and pairs of hex digits'],
    [{ to: '0x12' }, 'transactionReq.to', 'is not an address: 0x and 40 hex digits'],
  ])('refuses %j once, by its path', (transactionReq, path, message) => {
    expect(refusalOf(asked(transactionReq))).toEqual([[path, message]]);
  });

  it('takes the largest amounts', () => {
    const largest = { value: String(2n ** 256n - 1n), maxPriorityFeePerGas: String(2n ** 64n - 1n) };
    expect(transactionRequest.parse(asked(largest)).transactionReq).toMatchObject(largest);
  });

  it.each(['chainId', 'sponsor', 'transactionReq'])('is refused without %s', (member) => {
    expect(refusalOf({ ...asked({}), [member]: undefined }).map(([path]) => path)).toEqual([member]);
  });
});
