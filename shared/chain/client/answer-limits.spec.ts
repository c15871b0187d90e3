import { describe, expect, it } from '@jest/globals';
import { limitAnswer, parseAnswer, type RpcCall } from './answer-limits.ts';

const MIB = 1_048_576;
const calls = (...methods: RpcCall['method'][]): RpcCall[] => methods.map((method) => ({ method, params: [] }));

describe('the bytes of an answer', () => {
  it.each([
    [calls('eth_chainId'), MIB / 16],
    [calls('eth_getCode'), MIB / 4],
    [calls('eth_getBlockByNumber'), 2 * MIB],
    [calls('eth_getBlockByHash'), 2 * MIB],
    [calls('eth_getBlockByNumber', 'eth_getBlockByNumber'), 4 * MIB],
    [calls('eth_getLogs', 'eth_getBlockByNumber'), 34 * MIB],
  ])('%# are as many as its calls may have', (asked, bytesMax) => {
    expect(limitAnswer(asked)).toEqual({ bytesMax, isCut: false });
  });

  it('are never more than logs and a header have', () => {
    expect(limitAnswer(calls('eth_getLogs', 'eth_getBlockByNumber', 'eth_chainId'))).toEqual({
      bytesMax: 34 * MIB,
      isCut: true,
    });
  });
});

describe('an answer', () => {
  it('is parsed unless it is not JSON, is nested too deeply, or has more than two million values', () => {
    const parse = (text: string) => parseAnswer(Buffer.from(text));
    expect(parse('{"result":[null]}')).toEqual({ result: [null] });
    expect(parse('{"result":')).toBeUndefined();
    expect(parse('['.repeat(100) + ']'.repeat(100))).toBeUndefined();
    expect(parse(`[${'0,'.repeat(1_999_998)}0]`)).toHaveLength(1_999_999);
    expect(parse(`[${'0,'.repeat(1_999_999)}0]`)).toBeUndefined();
  });
});
