import fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { readAccountCalls } from '../../../../shared/chain/identifiers/account-call.ts';
import { transactionsModel, type TransactionDocument } from '../../../../shared/read-models/onchain/transactions.ts';
import { storedEvent } from '../../../../shared/testing/event-builder.ts';
import { execute, executeBatch } from '../../testing/operations-on-chain.ethers.ts';
import { aCall } from '../../testing/random-operation.ts';

const TO = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const word = (value: number): string => value.toString(16).padStart(64, '0');

/** What a policy is asked about, where it is one call. */
const judged = (callData: string) => {
  const [call, ...more] = readAccountCalls(callData) ?? [];
  return call && more.length === 0 ? call : undefined;
};

const listed = (callData: string) => {
  const { operation } = eventExamples.TxSubmitted;
  const event = storedEvent('TxSubmitted', { operation: { ...operation, callData } }, { position: 1 });
  const { transaction } = transactionsModel.evolve({}, event) as { transaction: TransactionDocument };
  const { to, value, data } = transaction;
  return to === null ? undefined : { to, value: BigInt(value ?? ''), data };
};

it.each([
  ['with its bytes one word further on', execute(TO).replace(word(0x60) + word(0), word(0x80) + word(0) + word(0))],
  ['with a word behind it', execute(TO) + word(0)],
  ['with something in its padding', execute(TO, 0n, '0xff').replace(/00$/, '01')],
  ['with its selector in capitals', execute(TO).replace('0xb61d27f6', '0xB61D27F6')],
  ['of a batch with a word behind it', executeBatch([{ to: TO }]) + word(0)],
])('given a call %s, then no policy judges it, and it is not listed', (_, callData) => {
  expect([judged(callData), listed(callData)]).toEqual([undefined, undefined]);
});

it('given a batch of one call, then it is judged and listed as that call', () => {
  const call = { to: TO, value: 5n, data: '0x1234' };
  expect([judged(executeBatch([call])), listed(executeBatch([call]))]).toEqual([call, call]);
});

it('given any call data, damaged or not, then what policies judge is what is listed', () => {
  const whole = fc.oneof(
    aCall.map(({ to, value, data }) => execute(to, value, data)),
    fc.array(aCall, { maxLength: 3 }).map(executeBatch),
  );
  const damage = fc.record({
    place: fc.nat(),
    bits: fc.nat({ max: 255 }),
    inserted: fc.constantFrom('', '00', word(0)),
    cut: fc.constantFrom(0, 0, 0, 1, 32),
  });
  fc.assert(
    fc.property(whole, damage, (callData, { place, bits, inserted, cut }) => {
      const bytes = Buffer.from(callData.slice(2), 'hex');
      const at = place % bytes.length;
      bytes.writeUInt8(bytes.readUInt8(at) ^ bits, at);
      const digits = bytes.subarray(0, bytes.length - cut).toString('hex');
      const damaged = `0x${digits.slice(0, 2 * at)}${inserted}${digits.slice(2 * at)}`;
      expect(listed(damaged)).toEqual(judged(damaged));
    }),
    { numRuns: 2_000 },
  );
});
