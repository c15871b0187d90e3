import { expect, it } from '@jest/globals';
import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { listText, progressText, statusText } from './watch-texts.ts';

const status: WatchStatus = {
  id: 'wch_1',
  chainId: 2484,
  contractAddress: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  eventName: 'Transfer',
  state: 'backfilling',
  startBlock: 1_001,
  currentBlockNumber: 1_999,
  headBlock: 2_000,
  finalizedBlock: 1_990,
  lagBlocks: 1,
  lagSeconds: 61,
  eventsTotal: 12_345,
  eventsPerSecond: 1_500,
  etaSeconds: 90_061,
  verifiedBlock: null,
  lastError: null,
  gaps: [],
};

it('a status is told in full, each member in a line', () => {
  expect(statusText(status)).toBe(
    [
      'watch          wch_1',
      'event          Transfer of 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 on chain 2484',
      'state          backfilling',
      'start block    1,001',
      'read           99.9 %, block 1,999 of 2,000',
      'final block    1,990',
      'verified       nothing yet',
      'behind         1 blocks, 1 min 1 s',
      'events         12,345, 1,500 a second',
      'remaining      1 d 1 h',
      'last error     none',
      '',
    ].join('\n'),
  );
  const failed = { ...status, state: 'failed' as const, headBlock: null, finalizedBlock: null, lagBlocks: null };
  const told = statusText({
    ...failed,
    etaSeconds: null,
    verifiedBlock: 7,
    lastError: 'down',
    gaps: [
      { fromBlock: 1, toBlock: 2, reason: 'to read', since: null },
      { fromBlock: 4, toBlock: 5, reason: 'pruned', since: '2026-01-02T12:00:00.000Z' },
    ],
  });
  for (const line of ['read           nothing read yet', 'final block    unknown', 'behind         unknown'])
    expect(told).toContain(`${line}\n`);
  for (const line of ['verified       up to block 7', 'remaining      unknown', 'not read       1 to 2: to read'])
    expect(told).toContain(`${line}\n`);
  expect(told).toContain('not read       4 to 5 since 2026-01-02T12:00:00.000Z: pruned\n');
  expect(told).toMatch(/last error {5}down\n$/);
});

it('progress is told in a line, in which only a watch that is read whole has 100 %', () => {
  expect(progressText(status)).toBe(
    'wch_1  backfilling  99.9 %, block 1,999 of 2,000  12,345 events, 1,500 a second  1 d 1 h left',
  );
  expect(progressText({ ...status, state: 'live', currentBlockNumber: 2_000, etaSeconds: 0, eventsPerSecond: 0 })).toBe(
    'wch_1  live  100.0 %, block 2,000 of 2,000  12,345 events, 0 a second',
  );
  expect(progressText({ ...status, state: 'failed', etaSeconds: null, lastError: 'no provider' })).toMatch(
    / {2}unknown left {2}no provider$/,
  );
  expect(progressText({ ...status, currentBlockNumber: 1_000, etaSeconds: 0 })).toContain('  0.0 %, ');
  expect(progressText({ ...status, headBlock: 900, etaSeconds: 59 })).toContain('  0.0 %, block 1,999 of 900  ');
});

it('watches are listed with how far they are', () => {
  const eventSignature = 'Transfer(address)';
  expect(listText([{ ...status, eventSignature }])).toBe(
    'wch_1  2484  0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045  backfilling  99.9 %, block 1,999 of 2,000  Transfer(address)\n',
  );
});
