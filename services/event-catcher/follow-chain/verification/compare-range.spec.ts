import { describe, expect, it } from '@jest/globals';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { bloomOf } from '../../../../shared/chain/bloom.ts';
import { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { ChainUnavailable, RangeTooLarge, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import { transferWatch, watched } from '../../testing/example-watches.ts';
import { transfer } from '../../testing/follower/follower-under-test.ts';
import { overriding } from '../../testing/overriding.ts';
import { recordOf } from '../watches/watched-event.ts';
import { compareRange, type Compared } from './compare-range.ts';

const BLOCKS = 40;
const watch = watched(transferWatch);

const timeOf = (block: number): string => new Date((1_700_000_000 + block) * 1_000).toISOString();

/** A chain with a transfer in each block, all of them stored. */
const chained = () => {
  const chain = new MemoryChain(2484);
  for (let block = 1; block <= BLOCKS; block += 1) chain.mine([transfer(block)]);
  const stored = chain.logs.map((log) => recordOf(watch, log, timeOf(log.blockNumber), 'backfill'));
  const [first, second] = stored;
  if (!first || !second) throw new Error('there are records');
  return { chain, stored, first, second, others: stored.slice(1) };
};
const nothing = { missing: [], wrong: [], unproven: 0 };
const numbersOf = (records: readonly ObservedRecord[]) => records.map(({ BlockNumber }) => BlockNumber);
const compare = (reader: ChainReader, stored: readonly ObservedRecord[], blocks = { from: 0, to: BLOCKS }) => {
  const { from, to } = blocks;
  const within = stored.filter(({ BlockNumber }) => from <= BlockNumber && BlockNumber <= to);
  return compareRange(reader, [watch], blocks, () => Promise.resolve(new Map([[watch.id, within]])));
};
const differences = ({ missing, wrong, unproven }: Compared) => ({ missing, wrong, unproven });
/** Returns no logs when ranges are cross-checked, as the only endpoint or as one of two. */
const withoutLogs = (chain: MemoryChain, more: Partial<ChainReader> = {}, endpoints = 1) =>
  overriding<ChainReader>(chain, {
    crossCheckedLogs: () => Promise.resolve({ logs: [], disputed: [], endpoints }),
    ...more,
  });

describe('a range that is read once more', () => {
  it('does not differ where all is stored', async () => {
    const { chain, stored } = chained();
    expect(differences(await compare(chain, stored))).toEqual(nothing);
    expect(chain.calls.filter((call) => call !== 'logsOfRange' && call !== 'headersByNumber')).toEqual([]);
  });

  it('has what is missing in its order, as replayed, with the times of its blocks', async () => {
    const { chain, stored } = chained();
    const without = stored.filter(({ BlockNumber }) => ![7, 30].includes(BlockNumber));
    const { missing, wrong } = await compare(chain, without);
    expect(missing).toEqual([stored[6], stored[29]].map((record) => ({ ...record, Origin: 'replay' })));
    expect(wrong).toEqual([]);
  });

  it('is asked for block by block where a bloom promises what the only endpoint leaves out', async () => {
    const { chain } = chained();
    expect(numbersOf((await compare(withoutLogs(chain), [])).missing)).toEqual(numbersOf(chained().stored));
    expect(chain.calls.filter((call) => call === 'logsOfBlock')).toHaveLength(BLOCKS);
  });

  it('is read from receipts where the endpoint leaves out logs of single blocks, too', async () => {
    const { chain } = chained();
    const logsOfBlock = () => Promise.reject(new ChainUnavailable('logs that the bloom announces are missing'));
    expect((await compare(withoutLogs(chain, { logsOfBlock }), [])).missing).toHaveLength(BLOCKS);
    const receiptsOfBlock = () => Promise.reject(new ChainUnavailable('no receipts'));
    await expect(compare(withoutLogs(chain, { logsOfBlock, receiptsOfBlock }), [])).rejects.toThrow(ChainUnavailable);
  });

  it('is read from the receipts of the last block of an answer, where the blocks behind it were left out', async () => {
    const chain = new MemoryChain(2484);
    for (const count of [1, 3, 2]) chain.mine(Array.from({ length: count }, (_, at) => transfer(at)));
    const { logs } = chain;
    for (const [given, blocks] of [
      [logs.slice(0, 2), [2, 2, 3, 3]],
      [logs.slice(3), [1, 2, 2]],
    ] as const) {
      const crossCheckedLogs = () => Promise.resolve({ logs: [...given], disputed: [], endpoints: 1 });
      const stored = given.map((log) => recordOf(watch, log, timeOf(log.blockNumber), 'backfill'));
      const reader = overriding<ChainReader>(chain, { crossCheckedLogs });
      expect(numbersOf((await compare(reader, stored, { from: 0, to: 3 })).missing)).toEqual(blocks);
    }
  });

  it('asks only for the emptiest of full blocks, whose blooms promise everything', async () => {
    const chain = new MemoryChain(2484);
    const full = Array.from({ length: 900 }, (_, at) => ({
      address: `0x${at.toString(16).padStart(40, '0')}`,
      topics: [],
      data: '0x',
    }));
    for (let block = 0; block < BLOCKS; block += 1) chain.mine(full);
    const logsBloom = bloomOf([...full, transfer(0)]);
    const headersByNumber: ChainReader['headersByNumber'] = async (numbers) =>
      (await chain.headersByNumber(numbers)).map((header) => header && { ...header, logsBloom });
    const reader = overriding<ChainReader>(chain, { headersByNumber });
    expect(differences(await compare(reader, []))).toEqual(nothing);
    expect(chain.calls.filter((call) => call === 'logsOfBlock')).toHaveLength(20);
  });

  it('is not compared with blooms where two endpoints answered, or where blooms leave out logs', async () => {
    const { chain } = chained();
    expect(differences(await compare(withoutLogs(chain, {}, 2), []))).toEqual(nothing);
    expect(differences(await compare(withoutLogs(chain, { usesBlooms: false }), []))).toEqual(nothing);
    expect(chain.calls).not.toContain('logsOfBlock');
  });

  it('is smaller where blooms are compared', async () => {
    const { chain } = chained();
    await expect(compare(chain, [], { from: 0, to: 100 })).rejects.toThrow(ChainUnavailable);
    const reader = withoutLogs(chain);
    await expect(compare(reader, [], { from: 0, to: 100 })).rejects.toMatchObject({ suggested: { blocks: 100 } });
  });

  it('takes nothing for wrong because it is withheld now', async () => {
    const { chain, stored } = chained();
    const blocks = { from: 1, to: 20 };
    for (const endpoints of [1, 2])
      expect(differences(await compare(withoutLogs(chain, {}, endpoints), stored, blocks))).toEqual(nothing);
    await expect(compare(withoutLogs(chain), stored)).rejects.toThrow(RangeTooLarge);
  });

  it('has as wrong what is in another block, and what the receipts of its block do not have', async () => {
    const { chain, stored, first, second } = chained();
    const elsewhere = { ...first, Id: 'elsewhere', BlockHash: `0x${'e'.repeat(64)}` };
    const invented = { ...second, Id: 'invented', LogIndex: 7 };
    const compared = await compare(chain, [...stored, elsewhere, invented]);
    expect(differences(compared)).toEqual({ ...nothing, wrong: [elsewhere, invented] });
  });

  it('keeps what nobody gives and no receipt can prove wrong, as of what a chain itself did', async () => {
    const { chain, stored, first } = chained();
    const unproven = { ...first, Id: 'unproven', TxHash: `0x${'e'.repeat(64)}` };
    expect(differences(await compare(chain, [...stored, unproven]))).toEqual({ ...nothing, unproven: 1 });
  });

  it('replaces a record whose data the receipts have otherwise', async () => {
    const { chain, first, others } = chained();
    const changed = { ...first, Data: { ...first.Data, value: '999' } };
    const { missing, wrong } = await compare(chain, [changed, ...others]);
    expect([wrong, missing.map(({ Id, Data }) => [Id, Data])]).toEqual([[changed], [[first.Id, first.Data]]]);
  });

  it.each([1, 2])(
    'replaces a record whose time is not that of its block, where %i endpoints answer',
    async (endpoints) => {
      const { chain, first, others } = chained();
      const mistimed = { ...first, BlockTime: timeOf(7) };
      const crossCheckedLogs: ChainReader['crossCheckedLogs'] = async (...asked) => ({
        ...(await chain.crossCheckedLogs(...asked)),
        endpoints,
      });
      const reader = overriding<ChainReader>(chain, { crossCheckedLogs });
      const { missing, wrong, unproven } = await compare(reader, [mistimed, ...others]);
      expect([wrong, missing, unproven]).toEqual([[mistimed], [{ ...first, Origin: 'replay' }], 0]);
    },
  );

  it('replaces a record whose place in its block the receipts have otherwise', async () => {
    const { chain, first, others } = chained();
    const elsewhere = { ...first, TxIndex: 3 };
    const { missing, wrong } = await compare(chain, [elsewhere, ...others]);
    expect([wrong, missing]).toEqual([[elsewhere], [{ ...first, Origin: 'replay' }]]);
  });

  it('keeps what is stored where an endpoint says otherwise than the receipts', async () => {
    const { chain, stored } = chained();
    const crossCheckedLogs: ChainReader['crossCheckedLogs'] = async (...asked) => {
      const again = await chain.crossCheckedLogs(...asked);
      const [first, ...others] = again.logs;
      return { ...again, logs: first ? [{ ...first, ...transfer(999) }, ...others] : [] };
    };
    expect(differences(await compare(overriding<ChainReader>(chain, { crossCheckedLogs }), stored))).toEqual(nothing);
  });

  it('is refused where an endpoint names another block in a log that no receipt has', async () => {
    const { chain } = chained();
    const crossCheckedLogs: ChainReader['crossCheckedLogs'] = async (...asked) => {
      const again = await chain.crossCheckedLogs(...asked);
      return { ...again, logs: again.logs.map((log) => ({ ...log, blockHash: `0x${'e'.repeat(64)}`, logIndex: 9 })) };
    };
    const reader = overriding<ChainReader>(chain, { crossCheckedLogs });
    await expect(compare(reader, [], { from: 1, to: 3 })).rejects.toThrow('a block hash that is not on the chain');
  });

  it.each([true, false])('has the logs of the receipts where an endpoint names other blocks: %s', async (isStored) => {
    const { chain, stored } = chained();
    const crossCheckedLogs: ChainReader['crossCheckedLogs'] = async (...asked) => {
      const again = await chain.crossCheckedLogs(...asked);
      return { ...again, logs: again.logs.map((log) => ({ ...log, blockHash: `0x${'e'.repeat(64)}` })) };
    };
    const reader = overriding<ChainReader>(chain, { crossCheckedLogs });
    const right = stored.slice(0, 3);
    const BlockHash = `0x${'e'.repeat(64)}`;
    const wrong = right.map((record) => ({ ...record, BlockHash, Id: record.Id.replace(record.BlockHash, BlockHash) }));
    const corrected = await compare(reader, isStored ? wrong : [], { from: 1, to: 3 });
    expect(corrected.wrong).toEqual(isStored ? wrong : []);
    expect(corrected.missing).toEqual(right.map((record) => ({ ...record, Origin: 'replay' })));
  });
});
