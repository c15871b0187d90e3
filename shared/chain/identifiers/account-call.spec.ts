import { Interface } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { readAccountCalls, type AccountCall } from './account-call.ts';
import { checksumAddress } from './address.ts';

const account = new Interface([
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, uint256[] value, bytes[] func)',
  'function executeBatch(address[] dest, bytes[] func)',
]);
const BATCH = 'executeBatch(address[],uint256[],bytes[])';
const TO = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const aCall = fc.record({
  to: fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((bytes) => checksumAddress(Buffer.from(bytes).toString('hex'))),
  value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  data: fc.uint8Array({ maxLength: 100 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
});
const executeOf = ({ to, value, data }: AccountCall) => account.encodeFunctionData('execute', [to, value, data]);
const batchOf = (calls: readonly AccountCall[], values: readonly bigint[] = calls.map(({ value }) => value)) =>
  account.encodeFunctionData(BATCH, [calls.map(({ to }) => to), values, calls.map(({ data }) => data)]);
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const wordsOf = (selector: string, words: readonly (bigint | number)[]) => `${selector}${words.map(word).join('')}`;
const WITHOUT_DATA = executeOf({ to: TO, value: 0n, data: '0x' });

describe('the calls of an operation', () => {
  it('are those of execute, and of a batch, with values and without any', () => {
    fc.assert(
      fc.property(fc.array(aCall, { maxLength: 6 }), (calls) => {
        for (const call of calls) expect(readAccountCalls(executeOf(call))).toEqual([call]);
        expect(readAccountCalls(batchOf(calls))).toEqual(calls);
        expect(readAccountCalls(batchOf(calls, []))).toEqual(calls.map((call) => ({ ...call, value: 0n })));
      }),
    );
  });

  it('are unknown of a batch with more of one than of another, which the account refuses', () => {
    const batch = ([targets, values, data]: readonly [number, number, number]) =>
      account.encodeFunctionData(BATCH, [Array(targets).fill(TO), Array(values).fill(1n), Array(data).fill('0x')]);
    expect(readAccountCalls(batch([2, 2, 2]))).toHaveLength(2);
    for (const lengths of [
      [2, 2, 1],
      [1, 2, 2],
      [2, 1, 2],
      [0, 1, 0],
    ] as const) {
      expect(readAccountCalls(batch(lengths))).toBeUndefined();
    }
  });

  it.each([
    ['nothing', '0x'],
    ['half a selector', '0xb61d27'],
    ['a selector alone', '0xb61d27f6'],
    ['the selector of a batch alone', '0x47e1da2a'],
    ['no hex', 'b61d27f6'],
    ['the older batch, without values', account.encodeFunctionData('executeBatch(address[],bytes[])', [[TO], ['0x']])],
    ['capitals', WITHOUT_DATA.toUpperCase().replace('0X', '0x')],
    ['half a byte behind it', `${WITHOUT_DATA}0`],
    ['other letters behind it', `${WITHOUT_DATA}zz`],
    ['a line break behind it', `${WITHOUT_DATA}\n`],
    ['a word behind it', WITHOUT_DATA + word(0)],
    ['an address of more than 20 bytes', WITHOUT_DATA.replace('0xb61d27f600', '0xb61d27f601')],
    ['another offset', wordsOf('0xb61d27f6', [1, 0, 0x80, 0, 0])],
    ['fewer bytes than it says', wordsOf('0xb61d27f6', [1, 0, 0x60, 0x21, 1])],
    ['far more bytes than there are', wordsOf('0xb61d27f6', [1, 0, 0x60, 2n ** 256n - 1n])],
    ['something in the padding', wordsOf('0xb61d27f6', [1, 0, 0x60, 1, 1])],
    ['an endless batch', wordsOf('0x47e1da2a', [0x60, 0x60, 0x60, 2n ** 256n - 1n, 2n ** 31n])],
    ['a batch whose parts are in another order', wordsOf('0x47e1da2a', [0x60, 0xa0, 0x80, 0, 0, 0])],
    ['a batch whose parts are the same bytes', wordsOf('0x47e1da2a', [0x60, 0x60, 0x60, 0])],
    ['a batch whose calls share bytes', wordsOf('0x47e1da2a', [0x60, 0xc0, 0xe0, 2, 1, 1, 0, 2, 0x40, 0x40, 0])],
  ])('are unknown of %s', (_, callData) => {
    expect(readAccountCalls(callData)).toBeUndefined();
  });

  it('are read only where ethers would write the same bytes', () => {
    const aChange = fc.record({ at: fc.nat(), bits: fc.integer({ min: 1, max: 255 }), cut: fc.nat({ max: 40 }) });
    const encoded = fc.oneof(
      aCall.map(executeOf),
      fc.array(aCall, { maxLength: 4 }).map((calls) => batchOf(calls)),
    );
    fc.assert(
      fc.property(encoded, aChange, (callData, { at, bits, cut }) => {
        const bytes = Buffer.from(callData.slice(2), 'hex');
        const place = 4 + (at % (bytes.length - 4));
        bytes.writeUInt8(bytes.readUInt8(place) ^ bits, place);
        const changed = `0x${bytes.subarray(0, Math.max(4, bytes.length - cut)).toString('hex')}`;
        const calls = readAccountCalls(changed);
        if (calls === undefined) return;
        const [first] = calls;
        const possible = [batchOf(calls), batchOf(calls, []), ...(first ? [executeOf(first)] : [])];
        expect(possible).toContain(changed);
      }),
      { numRuns: 2_000 },
    );
  });
});
