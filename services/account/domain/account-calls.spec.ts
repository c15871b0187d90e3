import { Interface } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { anAddress, someBytes } from '../testing/random-operation.ts';
import { callsOf, createAccountData, executeCall } from './account-calls.ts';

const account = new Interface([
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, uint256[] value, bytes[] func)',
  'function executeBatch(address[] dest, bytes[] func)',
]);
const factory = new Interface(['function createAccount(address owner, uint256 salt)']);
const BATCH = 'executeBatch(address[],uint256[],bytes[])';
const TO = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const aCall = fc.record({ to: anAddress, value: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), data: someBytes(100) });
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const batchOf = (calls: readonly { to: string; value: bigint; data: string }[]) =>
  account.encodeFunctionData(BATCH, [
    calls.map(({ to }) => to),
    calls.map(({ value }) => value),
    calls.map(({ data }) => data),
  ]);

describe('the call of an account', () => {
  it('is written as ethers writes it, and read as it was written', () => {
    fc.assert(
      fc.property(aCall, (call) => {
        const callData = account.encodeFunctionData('execute', [call.to, call.value, call.data]);
        expect(executeCall(call)).toBe(callData);
        expect(callsOf(callData)).toEqual([call]);
      }),
    );
  });

  it('is read from a batch, with values and without any', () => {
    fc.assert(
      fc.property(fc.array(aCall, { maxLength: 6 }), (calls) => {
        expect(callsOf(batchOf(calls))).toEqual(calls);
        const withoutValues = [calls.map(({ to }) => to), [], calls.map(({ data }) => data)];
        expect(callsOf(account.encodeFunctionData(BATCH, withoutValues))).toEqual(
          calls.map((call) => ({ ...call, value: 0n })),
        );
      }),
    );
  });

  it('is unknown of a batch with more of one than of another, which the account refuses', () => {
    const batch = (...lengths: readonly [number, number, number]) =>
      account.encodeFunctionData(BATCH, [
        Array.from({ length: lengths[0] }, () => TO),
        Array.from({ length: lengths[1] }, () => 1n),
        Array.from({ length: lengths[2] }, () => '0x'),
      ]);
    expect(callsOf(batch(2, 2, 2))).toHaveLength(2);
    for (const [targets, values, data] of [
      [2, 2, 1],
      [1, 2, 2],
      [2, 1, 2],
      [0, 1, 0],
    ] as const) {
      expect(callsOf(batch(targets, values, data))).toBeUndefined();
    }
  });

  it('is unknown of any other call data, and never anything else than ethers reads', () => {
    expect(callsOf(account.encodeFunctionData('executeBatch(address[],bytes[])', [[TO], ['0x']]))).toBeUndefined();
    for (const other of ['', '0x', '0xb61d27', '0xb61d27f6', '0x47e1da2a', 'b61d27f6', '0xb61d27f6zz', '0xb61d27f60']) {
      expect(callsOf(other)).toBeUndefined();
    }
    const aChange = fc.record({ at: fc.nat(), bits: fc.integer({ min: 1, max: 255 }), cut: fc.nat({ max: 40 }) });
    const encoded = fc.oneof(aCall.map(executeCall), fc.array(aCall, { maxLength: 4 }).map(batchOf));
    fc.assert(
      fc.property(encoded, aChange, (callData, { at, bits, cut }) => {
        const bytes = Buffer.from(callData.slice(2), 'hex');
        const place = 4 + (at % (bytes.length - 4));
        bytes.writeUInt8(bytes.readUInt8(place) ^ bits, place);
        const changed = `0x${bytes.subarray(0, Math.max(4, bytes.length - cut)).toString('hex')}`;
        const calls = callsOf(changed);
        if (calls === undefined) return;
        const [to, value, data] = readByEthers(changed);
        expect(calls.map((call) => call.to)).toEqual(to);
        expect(calls.map((call) => call.value)).toEqual(value.length === 0 ? calls.map(() => 0n) : value);
        expect(calls.map((call) => call.data)).toEqual(data);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is unknown where anything but whole bytes stands behind it', () => {
    const callData = executeCall({ to: TO, value: 0n, data: '0x' });
    expect(callsOf(callData.toUpperCase().replace('0X', '0x'))).toHaveLength(1);
    for (const end of ['0', 'zz', ' ', '0x', '\n', '0z']) expect(callsOf(callData + end)).toBeUndefined();
  });

  it('is unknown where an address has more than its 20 bytes, which the account refuses', () => {
    const callData = executeCall({ to: TO, value: 0n, data: '0x' });
    expect(callsOf(callData.replace('0xb61d27f600', '0xb61d27f601'))).toBeUndefined();
  });

  it('is read from a batch in which calls share bytes, as long as they are no more than was sent', () => {
    const sharing = (dataBytes: number) => {
      const head = [0x60, 0x60 + 3 * 32, 0x60 + 4 * 32, 2, 1, 1, 0, 2, 64, 64, dataBytes];
      return callsOf(`0x47e1da2a${head.map(word).join('')}${'ab'.repeat(dataBytes)}`);
    };
    const headBytes = 11 * 32;
    const data = `0x${'ab'.repeat(headBytes)}`;
    expect(sharing(headBytes)).toMatchObject([{ data }, { data }]);
    expect(sharing(headBytes + 1)).toBeUndefined();
  });

  it('is not looked for in what names the same bytes again and again, or says that it is endless', () => {
    const COUNT = 1_000;
    const words = [
      ...[0x60, 0x60, 0x60 + 32 * (COUNT + 1)],
      ...[COUNT, ...Array.from({ length: COUNT }, () => 1)],
      ...[COUNT, ...Array.from({ length: COUNT }, () => 32 * COUNT)],
      20_000,
    ];
    const again = `0x47e1da2a${words.map(word).join('')}${'ab'.repeat(20_000)}`;
    expect(callsOf(again)).toBeUndefined();
    const endless = [0x60, 0x60, 0x60, 2n ** 256n - 1n, 2n ** 31n].map(word).join('');
    expect(callsOf(`0x47e1da2a${endless}`)).toBeUndefined();
    expect(callsOf(`0x47e1da2a${[0x80, 0x80, 0x80, 0, 2n ** 31n].map(word).join('')}`)).toBeUndefined();
  });
});

/** ethers wants the last word to be whole. */
const readByEthers = (callData: string): [string[], bigint[], string[]] => {
  const decoded = account.parseTransaction({ data: callData + word(0) });
  const [to, value, data] = (decoded?.args.toArray(true) ?? []) as [string[], bigint[], string[]];
  return decoded?.name === 'execute' ? ([[to], [value], [data]] as never) : [to, value, data];
};

it('the call of the factory is written as ethers writes it', () => {
  fc.assert(
    fc.property(anAddress, (owner) => {
      expect(createAccountData(owner)).toBe(factory.encodeFunctionData('createAccount', [owner, 0]));
    }),
  );
});
