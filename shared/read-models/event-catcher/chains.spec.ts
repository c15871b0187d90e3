import { describe, expect, it } from '@jest/globals';
import { storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { chainsModel } from './chains.ts';

const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const block = (number: number, timestamp: number) => ({
  ...{ number, timestamp, since: 0 },
  ...{ hash: hash(String(number)), parentHash: hash(String(number - 1)) },
});
const backfill = { watchIds: ['wch_1', 'wch_2'], from: 1, next: 3, to: 6, joins: true };
const advanced = storedEvent(
  'ChainAdvanced',
  {
    chainId: 10,
    head: 9,
    finalized: 7,
    window: [block(7, 1_767_225_600), block(8, 1_767_225_612), block(9, 1_767_225_624)],
    backfills: [backfill],
    watchesUpTo: 5,
    repeats: 3,
  },
  { position: 6, time: Date.parse('2030-01-01T00:00:00.000Z') },
);

describe('the progress of a chain', () => {
  it('has how far it was verified beside how far it was read', async () => {
    const verified = storedEvent(
      'ChainVerified',
      { chainId: 10, verified: 7, behind: [{ watchIds: ['wch_1'], next: 3 }], watchesUpTo: 5 },
      { position: 7 },
    );
    const { chain, verification } = await project(chainsModel, [advanced, verified]);
    expect([Object.keys(chain ?? {}), verification]).toEqual([
      ['10'],
      { 10: { chainId: 10, verified: 7, behind: [{ watchIds: ['wch_1'], next: 3 }], watchesUpTo: 5 } },
    ]);
  });

  it('has head, finalized block and ranges still to be read, with the time of the head block', async () => {
    expect(await project(chainsModel, [advanced])).toEqual({
      aside: {},
      verification: {},
      chain: {
        10: {
          chainId: 10,
          head: 9,
          headTime: '2026-01-01T00:00:24.000Z',
          finalized: 7,
          backfills: [backfill],
          watchesUpTo: 5,
          position: 3,
        },
      },
    });
  });

  it('has what is set aside of a watch, and since when it is not any more', async () => {
    const ranges = [{ from: 1, next: 3, to: 6, joins: true }];
    const event = (watchId: string, left: typeof ranges, position: number) =>
      storedEvent('RangesSetAside', { chainId: 10, watchId, ranges: left }, { position });
    const events = [
      event('wch_1', ranges, 7),
      event('wch_2', ranges, 8),
      event('wch_1', [], 9),
      event('wch_3', [], 10),
    ];
    expect((await project(chainsModel, events)).aside).toEqual({
      wch_1: { ranges, takenUp: 9 },
      wch_2: { ranges, takenUp: null },
      wch_3: { ranges: [], takenUp: 10 },
    });
  });

  it('is replaced by the newest, also when a reorganisation has lowered the head', async () => {
    const shorter = storedEvent(
      'ChainAdvanced',
      { chainId: 10, head: 8, finalized: 8, window: [block(8, 1_767_225_613)], backfills: [], watchesUpTo: 6 },
      { position: 7 },
    );
    expect(await project(chainsModel, [advanced, shorter])).toEqual({
      aside: {},
      verification: {},
      chain: {
        10: {
          chainId: 10,
          head: 8,
          headTime: '2026-01-01T00:00:13.000Z',
          finalized: 8,
          backfills: [],
          watchesUpTo: 6,
          position: 7,
        },
      },
    });
  });

  it('is kept for each chain separately', async () => {
    const other = storedEvent('ChainAdvanced', { chainId: 1, head: 4 }, { position: 7 });
    const { chain } = await project(chainsModel, [advanced, other]);
    expect(chain).toMatchObject({ 10: { chainId: 10, head: 9 }, 1: { chainId: 1, head: 4 } });
  });
});
