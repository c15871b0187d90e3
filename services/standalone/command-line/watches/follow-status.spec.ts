import { expect, it } from '@jest/globals';
import type { WatchState, WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import { followStatus } from './follow-status.ts';

const at = (currentBlockNumber: number, state: WatchState = 'backfilling'): WatchStatus => ({
  ...{
    id: 'wch_1',
    chainId: 1,
    contractAddress: '0x1',
    eventName: 'Transfer',
    state,
    startBlock: 1,
    currentBlockNumber,
  },
  ...{ headBlock: 10, finalizedBlock: 5, lagBlocks: 0, lagSeconds: 0, eventsTotal: 7, eventsPerSecond: 1 },
  ...{ etaSeconds: null, verifiedBlock: null, lastError: null, gaps: [] },
});

it('on a terminal one line moves, cut to its width', async () => {
  const texts: string[] = [];
  const statuses = [at(5), at(10, 'live')];
  const read = () => Promise.resolve(statuses.shift() ?? at(0));
  const output = { isTTY: true, columns: 41, write: (text: string) => texts.push(text) };
  await followStatus({ read, output, json: false }, new AbortController().signal);
  expect(texts).toEqual([
    '\rwch_1  backfilling  50.0 %, block 5 of 1\u001b[K',
    '\rwch_1  live  100.0 %, block 10 of 10  7 \u001b[K',
    '\n',
  ]);
});

it('what fails ends it, with the line kept', async () => {
  const texts: string[] = [];
  let reads = 0;
  const read = () => ((reads += 1) === 1 ? Promise.resolve(at(5)) : Promise.reject(new Error('away')));
  const output = { isTTY: true, write: (text: string) => texts.push(text) };
  await expect(followStatus({ read, output, json: false }, new AbortController().signal)).rejects.toThrow('away');
  expect(texts.at(-1)).toBe('\n');
});
