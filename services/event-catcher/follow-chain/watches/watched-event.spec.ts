import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chainEvents } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { bloomOf } from '../../../../shared/chain/bloom.ts';
import type { ChainLog } from '../../../../shared/chain/chain-reader.ts';
import { checkLogs } from '../../../../shared/chain/client/answers/checked-answers.ts';
import { watched } from '../../testing/example-watches.ts';
import { toRecords } from '../block-logs.ts';
import { filterFor, belongsTo, matcherFor, filterByBloom, recordOf } from './watched-event.ts';

const registered = eventExamples.ContractRegistered;
const contract = registered.contractAddress.toLowerCase();
const otherContract = `0x${'1'.repeat(40)}`;
const watchOf = (changes: Partial<typeof registered> = {}) => watched({ ...registered, startBlock: 5, ...changes });

const transfer = watchOf();
const approval = watchOf({ watchId: 'wch_approval', eventName: 'Approval', topic0: `0x${'a'.repeat(64)}` });
const anonymous = watchOf({
  watchId: 'wch_anonymous',
  topic0: null,
  fragment: { name: 'Noted', anonymous: true, inputs: [{ name: 'value', type: 'uint256', indexed: false }] },
});
const elsewhere = watchOf({ watchId: 'wch_elsewhere', contractAddress: otherContract });

const word = (value: number) => value.toString(16).padStart(64, '0');
const log = (changes: Partial<ChainLog> = {}): ChainLog => ({
  address: contract,
  topics: [registered.topic0 ?? '', `0x${word(1)}`, `0x${word(2)}`],
  data: `0x${word(7)}`,
  blockNumber: 7,
  blockHash: `0x${'b'.repeat(64)}`,
  blockTimestamp: undefined,
  txHash: `0x${'c'.repeat(64)}`,
  txIndex: 3,
  logIndex: 9,
  ...changes,
});

describe('a log of a contract', () => {
  it('belongs to every watch of its contract and first topic', () => {
    const again = watchOf({ watchId: 'wch_again' });
    const match = matcherFor([elsewhere, approval, transfer, again]);
    expect(match(log())).toEqual([transfer, again]);
    expect(match(log({ topics: [approval.topic0 ?? ''] }))).toEqual([approval]);
    expect(match(log({ address: otherContract }))).toEqual([elsewhere]);
    expect(match(log({ topics: [`0x${'d'.repeat(64)}`] }))).toEqual([]);
    expect(match(log({ topics: [] }))).toEqual([]);
    expect(match(log({ address: `0x${'2'.repeat(40)}` }))).toEqual([]);
  });

  it('belongs to the watches of anonymous events with its layout, whatever its first topic is', () => {
    const alike = watchOf({
      watchId: 'wch_alike',
      topic0: null,
      fragment: {
        name: 'Decoy',
        anonymous: true,
        inputs: ['bytes32', 'address', 'address', 'uint256'].map((type, at) => ({ name: '', type, indexed: at < 3 })),
      },
    });
    const match = matcherFor([anonymous, alike, transfer]);
    expect(match(log({ topics: [] }))).toEqual([anonymous]);
    expect(match(log({ topics: [], data: '0x' }))).toEqual([]);
    expect(match(log({ topics: [], address: otherContract }))).toEqual([]);
    expect(match(log())).toEqual([transfer, alike]);
  });

  it('is recorded in the public form', () => {
    expect(recordOf(transfer, log(), '2026-01-01T00:00:00.000Z', 'backfill')).toEqual({
      Id: `2484:0x${'b'.repeat(64)}:0x${'c'.repeat(64)}:9`,
      WatchId: registered.watchId,
      ChainId: 2484,
      ContractAddress: registered.contractAddress,
      EventName: 'Transfer',
      EventSignature: registered.eventSignature,
      BlockNumber: 7,
      BlockHash: `0x${'b'.repeat(64)}`,
      BlockTime: '2026-01-01T00:00:00.000Z',
      TxHash: `0x${'c'.repeat(64)}`,
      TxIndex: 3,
      LogIndex: 9,
      Data: { from: `0x${'0'.repeat(39)}1`, to: `0x${'0'.repeat(39)}2`, value: '7' },
      Origin: 'backfill',
    });
  });
});

const word256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((number) => number.toString(16).padStart(64, '0'));
const index = fc.nat({ max: 2 ** 52 - 1 });
const someAnswer = fc.record({
  address: fc.constantFrom(registered.contractAddress, contract),
  topics: fc.array(word256, { maxLength: 3 }).map((words) => [registered.topic0, ...words.map((one) => `0x${one}`)]),
  data: fc.array(word256, { maxLength: 3 }).map((words) => `0x${words.join('')}`),
  blockNumber: index.map((number) => `0x${number.toString(16)}`),
  blockHash: word256.map((digits) => `0x${digits.toUpperCase()}`),
  blockTimestamp: fc.nat({ max: 253_402_300_799 }).map((seconds) => `0x${seconds.toString(16)}`),
  transactionHash: word256.map((digits) => `0x${digits}`),
  transactionIndex: index.map((number) => `0x${number.toString(16)}`),
  logIndex: index.map((number) => `0x${number.toString(16)}`),
});

describe('a record of any log that was checked', () => {
  it('fits the schema of its event, which is not compared for each', () => {
    fc.assert(
      fc.property(someAnswer, (answer) => {
        const asked = { addresses: [contract], topics: [], from: 0, to: Number.MAX_SAFE_INTEGER };
        const [checked] = checkLogs([answer], asked);
        const [record] = toRecords(checked ? [checked] : [], [transfer], () => checked?.blockTimestamp ?? -1, 'live');
        expect(record?.BlockNumber ?? 5).toBeGreaterThanOrEqual(5);
        if (record) expect(chainEvents.ChainEventObserved.data.parse(record)).toEqual(record);
      }),
    );
  });
});

describe('a stored record', () => {
  const record = recordOf(transfer, log(), '', 'live');

  it('belongs to its watch, from the start block on', () => {
    expect(belongsTo(transfer, record)).toBe(true);
    expect(belongsTo(transfer, { ...record, BlockNumber: 5 })).toBe(true);
    expect(belongsTo(transfer, { ...record, BlockNumber: 4 })).toBe(false);
    expect(belongsTo(watchOf({ watchId: 'wch_again' }), record)).toBe(false);
  });
});

describe('the filter for a block', () => {
  const header = (number: number, logs = [log()]) => ({ number, logsBloom: bloomOf(logs) });

  it('contains the watches that its bloom allows, from their start blocks on', () => {
    const watches = [transfer, approval, elsewhere, anonymous];
    expect(filterByBloom(header(5), watches)).toEqual([transfer, anonymous]);
    expect(filterByBloom(header(4), watches)).toEqual([]);
    expect(filterByBloom(header(5, []), watches)).toEqual([]);
    expect(filterByBloom(header(5, [log({ topics: [] })]), watches)).toEqual([anonymous]);
  });

  it('has each contract and first topic once', () => {
    expect(filterFor([transfer, approval, elsewhere])).toEqual({
      addresses: [contract, otherContract],
      topics: [transfer.topic0, approval.topic0],
    });
  });

  it('has no topics if an event is anonymous, and each contract once, however many there are', () => {
    expect(filterFor([transfer, anonymous])).toEqual({ addresses: [contract], topics: [] });
    const many = Array.from({ length: 2_000 }, (_, at) =>
      watchOf({ contractAddress: `0x${(at % 1_500).toString(16).padStart(40, '0')}` }),
    );
    expect(filterFor(many).addresses).toHaveLength(1_500);
  });
});
