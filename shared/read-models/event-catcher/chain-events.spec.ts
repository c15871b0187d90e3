import { describe, expect, it } from '@jest/globals';
import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { chainEventDocumentId, chainEventIdFrom, chainEventsModel } from './chain-events.ts';

const transfer: ObservedRecord = {
  Id: 'log-7-2',
  WatchId: 'wch_1',
  ChainId: 10,
  ContractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  EventName: 'Transfer',
  EventSignature: 'Transfer(address,uint256)',
  BlockNumber: 7,
  BlockHash: '0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  BlockTime: '2026-01-01T00:00:00.000Z',
  TxHash: `0x${'c'.repeat(64)}`,
  TxIndex: 1,
  LogIndex: 2,
  Data: { to: '0x01', value: '5' },
  Origin: 'live',
};
const id = '10:0x5fbdb2315678afecb367f032d93f642f64180aa3:000000000007:000002:0123456789abcdef:wch_1';
const countId = 'wch_1';

type Changes = { [Member in keyof ObservedRecord]?: ObservedRecord[Member] | undefined };
const observed = (position: number, changes: Changes = {}) =>
  storedEvent('ChainEventObserved', { ...transfer, ...changes }, { position });
const reverted = (position: number, changes: Changes = {}) =>
  storedEvent('ChainEventReverted', { ...transfer, ...changes }, { position });

/** The record and its count after these events. */
const stateAfter = async (...events: Parameters<typeof project>[1]) => {
  const { record, count } = await project(chainEventsModel, events);
  return { ...record?.[id], count: count?.[countId] };
};

describe('a record', () => {
  it('has the data that was observed, and is counted', async () => {
    expect(await project(chainEventsModel, [observed(3)])).toEqual({
      record: {
        [id]: {
          Id: 'log-7-2',
          WatchId: 'wch_1',
          ChainId: 10,
          ContractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
          EventName: 'Transfer',
          EventSignature: 'Transfer(address,uint256)',
          BlockNumber: 7,
          BlockHash: '0x0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
          BlockTime: '2026-01-01T00:00:00.000Z',
          TxHash: '0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc',
          TxIndex: 1,
          LogIndex: 2,
          Data: { to: '0x01', value: '5' },
          Origin: 'live',
          changes: [3],
          observedPosition: 3,
          reverted: false,
          segment: 0,
        },
      },
      count: { [countId]: { canonical: 1, reverted: 0, segments: [[7, 7, 1, 0, 3]] } },
    });
  });

  it('that a reorganisation reverted is kept, marked and counted as reverted', async () => {
    expect(await stateAfter(observed(3), reverted(5))).toMatchObject({
      ...{ Id: 'log-7-2', changes: [3, 5], observedPosition: 3, reverted: true },
      count: { canonical: 0, reverted: 1 },
    });
  });

  it('that was reverted and observed again has the data of the last observation', async () => {
    expect(await stateAfter(observed(3), reverted(5), observed(8, { Origin: 'replay' }))).toMatchObject({
      ...{ Origin: 'replay', changes: [3, 5, 8], observedPosition: 8, reverted: false },
      count: { canonical: 1, reverted: 0 },
    });
    expect(await stateAfter(observed(3), reverted(5), observed(8), reverted(9))).toMatchObject({
      ...{ changes: [3, 5, 8, 9], observedPosition: 8, reverted: true },
      count: { canonical: 0, reverted: 1 },
    });
  });

  it('does not change by an event that repeats its state', async () => {
    expect(await stateAfter(observed(3), observed(4))).toMatchObject({
      ...{ changes: [3], observedPosition: 3, reverted: false },
      count: { canonical: 1, reverted: 0 },
    });
    expect(await stateAfter(observed(3), observed(4), reverted(5), reverted(6))).toMatchObject({
      ...{ changes: [3, 5], observedPosition: 3, reverted: true },
      count: { canonical: 0, reverted: 1 },
    });
  });

  it('does not change when its events are delivered again', async () => {
    const events = [observed(3), observed(4), reverted(5), observed(8)];
    expect(await stateAfter(...events, ...events)).toMatchObject({
      ...{ changes: [3, 5, 8], observedPosition: 8, reverted: false },
      count: { canonical: 1, reverted: 0 },
    });
  });

  it('does not exist when it was reverted and never observed', async () => {
    expect(await project(chainEventsModel, [reverted(3)])).toEqual({ record: {}, count: {} });
    expect(await stateAfter(reverted(3), observed(4))).toMatchObject({
      ...{ changes: [4], observedPosition: 4, reverted: false },
      count: { canonical: 1, reverted: 0 },
    });
  });

  it('is counted with the others of its watch only, and has a document for each watch of its log', async () => {
    const { record, count } = await project(chainEventsModel, [
      observed(3),
      observed(4, { LogIndex: 3 }),
      observed(5, { LogIndex: 4 }),
      observed(7, { LogIndex: 5, WatchId: 'wch_2' }),
      observed(8, { WatchId: 'wch_2' }),
      reverted(9, { LogIndex: 3 }),
    ]);
    expect(Object.keys(record ?? {})).toHaveLength(5);
    expect(count).toEqual({
      [countId]: { canonical: 2, reverted: 1, segments: [[7, 7, 2, 1, 9]] },
      wch_2: { canonical: 2, reverted: 0, segments: [[7, 7, 2, 0, 8]] },
    });
  });

  it('does not change by ChainAdvanced, which the read model follows', async () => {
    const advanced = storedEvent('ChainAdvanced', { chainId: 10 }, { position: 4 });
    expect(chainEventsModel.eventTypes).toContain('ChainAdvanced');
    expect(chainEventsModel.touches(advanced)).toEqual({});
    expect(chainEventsModel.evolve({}, advanced)).toEqual({});
    expect(await stateAfter(observed(3), advanced)).toMatchObject({
      changes: [3],
      count: { canonical: 1, reverted: 0 },
    });
  });
});

describe('a count that lacks events of its record, as after a crash between the two writes', () => {
  const record = { ...transfer, changes: [3, 5, 8], observedPosition: 8, reverted: false, segment: 0 };
  const counted = (canonical: number, reverted: number, position: number) => ({
    canonical,
    reverted,
    segments: [[7, 7, canonical, reverted, position]],
  });

  it('is changed by each of these events, and the record is not', () => {
    const before = [
      [undefined, observed(3), counted(1, 0, 3)],
      [counted(1, 0, 3), reverted(5), counted(0, 1, 5)],
      [counted(0, 1, 5), observed(8), counted(1, 0, 8)],
    ] as const;
    for (const [count, event, after] of before) {
      expect(chainEventsModel.evolve({ record, count }, event)).toEqual({ count: after });
    }
  });

  it('is not changed by events that did not change the record', () => {
    expect(chainEventsModel.evolve({ record, count: undefined }, observed(4))).toEqual({});
    expect(chainEventsModel.evolve({ record, count: undefined }, reverted(6))).toEqual({});
    expect(chainEventsModel.evolve({ record, count: undefined }, observed(9))).toEqual({});
  });
});

describe('the segments of a watch', () => {
  const count = { canonical: 8_190, reverted: 1, segments: [[3, 7, 8_190, 1, 2]] };
  const fold = (before: JsonObject, ...events: Parameters<typeof project>[1]) => {
    const records: JsonObject = {};
    let after: JsonObject = before;
    for (const event of events) {
      const id = chainEventDocumentId(event.data as ObservedRecord);
      const evolved = chainEventsModel.evolve({ record: records[id] as JsonObject | undefined, count: after }, event);
      if (evolved['record']) records[id] = evolved['record'];
      after = evolved['count'] ?? after;
    }
    return { count: after, segments: Object.values(records).map((record) => (record as JsonObject)['segment']) };
  };

  it('have 8,192 records each, in the order in which these were first stored, and know their blocks', () => {
    const { count: after, segments } = fold(
      count,
      observed(3, { BlockNumber: 9 }),
      observed(4, { BlockNumber: 8 }),
      observed(5, { BlockNumber: 2 }),
    );
    expect(segments).toEqual([0, 1, 1]);
    expect(after).toEqual({
      canonical: 8_193,
      reverted: 1,
      segments: [
        [3, 9, 8_191, 1, 3],
        [2, 8, 2, 0, 5],
      ],
    });
  });

  it('keep their records when these are reverted and observed again', () => {
    const [first, second] = [{ BlockNumber: 5 }, { BlockNumber: 8 }];
    const events = [observed(3, first), observed(4, second), reverted(5, first), reverted(6, second)];
    const { count: after, segments } = fold(count, ...events, observed(7, first));
    expect(segments).toEqual([0, 1]);
    expect(after).toEqual({
      canonical: 8_191,
      reverted: 2,
      segments: [
        [3, 7, 8_191, 1, 7],
        [8, 8, 0, 1, 6],
      ],
    });
  });
});

describe('the id of a record', () => {
  it('consists of contract, block and log, and sorts in chain order', () => {
    expect(chainEventDocumentId(transfer)).toBe(id);
    const logs = [
      { BlockNumber: 9, LogIndex: 10 },
      { BlockNumber: 10, LogIndex: 9 },
      { BlockNumber: 10, LogIndex: 10 },
      { BlockNumber: 999_999_999_999, LogIndex: 0 },
    ];
    const ids = logs.map((log) => chainEventDocumentId({ ...transfer, ...log }));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('is between the lower bounds of its block and of the next', () => {
    const from = (block: number) => chainEventIdFrom(10, transfer.ContractAddress, block);
    expect(from(7)).toBe('10:0x5fbdb2315678afecb367f032d93f642f64180aa3:000000000007');
    expect(from(7) <= id && id < from(8)).toBe(true);
  });
});
