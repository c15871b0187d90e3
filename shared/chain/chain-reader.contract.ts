import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bloomMayPass, bloomOf } from './bloom.ts';
import type { LogToMine } from '../testing/chain/simulated-chain.ts';
import { ChainUnavailable, type BlockHeader, type ChainReader, type LogFilter } from './chain-reader.ts';

/** A chain that the test controls. */
export interface MineableChain {
  mine(logs: readonly LogToMine[]): Promise<void>;
  rollBack(depth: number): Promise<void>;
}

const ADDRESSES = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const;
const TOPICS = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`] as const;
const ANY: LogFilter = { addresses: [], topics: [] };
const UNKNOWN_HASH = `0x${'77'.repeat(32)}`;

const aLog = (address: 0 | 1, topic: 0 | 1, data: number): LogToMine => ({
  address: ADDRESSES[address],
  topics: [TOPICS[topic], `0x${'03'.repeat(32)}`],
  data: `0x${data.toString(16).padStart(64, '0')}`,
});

/** Defines what every adapter of the port must do. */
export const chainReaderContract = (
  name: string,
  open: () => Promise<{ reader: ChainReader; chain: MineableChain; close: () => Promise<void> }>,
): void => {
  describe(`chain reader on ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    let reader: ChainReader;
    beforeAll(async () => {
      opened = await open();
      reader = opened.reader;
    });
    afterAll(async () => {
      await opened.close();
    });

    const mine = async (...blocks: LogToMine[][]): Promise<BlockHeader[]> => {
      const { number: before } = await reader.head();
      for (const logs of blocks) await opened.chain.mine(logs);
      const headers = await reader.headersByNumber(blocks.map((_, index) => before + 1 + index));
      return headers.map((header) => {
        if (!header) throw new Error('the mined block was not found');
        return header;
      });
    };
    const dataOf = (logs: readonly LogToMine[]) => logs.map(({ data }) => Number(data));

    it('returns the head, with each block linked to its parent', async () => {
      const before = await reader.head();
      const [first, second] = await mine([], [aLog(0, 0, 1)]);
      expect(first).toMatchObject({ number: before.number + 1, parentHash: before.hash });
      expect(second).toMatchObject({ number: before.number + 2, parentHash: first?.hash });
      expect(await reader.head()).toEqual(second);
      expect(second?.timestamp).toBeGreaterThanOrEqual(before.timestamp);
    });

    it('returns headers in the requested order, and undefined for blocks that do not exist', async () => {
      const { number, hash } = await reader.head();
      const headers = await reader.headersByNumber([number + 1, number, 0]);
      expect(headers.map((header) => header?.number)).toEqual([undefined, number, 0]);
      expect(await reader.headersByNumber([])).toEqual([]);
      expect((await reader.headerByHash(hash))?.number).toBe(number);
      expect(await reader.headerByHash(UNKNOWN_HASH)).toBeUndefined();
    });

    it('returns the logs of a block that pass the filter, complete and in order', async () => {
      const [header] = await mine([aLog(0, 0, 1), aLog(1, 0, 2), aLog(0, 1, 3), { ...aLog(0, 0, 4), topics: [] }]);
      if (!header) throw new Error('no block');
      const { hash, number, timestamp } = header;
      const all = await reader.logsOfBlock(header, ANY);
      expect(all.map(({ logIndex, txIndex }) => [logIndex, txIndex])).toEqual([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 3],
      ]);
      expect(all[2]).toMatchObject({
        ...aLog(0, 1, 3),
        blockHash: hash,
        blockNumber: number,
        blockTimestamp: timestamp,
      });
      expect(new Set(all.map(({ txHash }) => txHash)).size).toBe(4);
      const passing = async (filter: Partial<LogFilter>) =>
        dataOf(await reader.logsOfBlock(header, { ...ANY, ...filter }));
      expect(await passing({ addresses: [ADDRESSES[0]] })).toEqual([1, 3, 4]);
      expect(await passing({ topics: [TOPICS[0]] })).toEqual([1, 2]);
      expect(await passing({ addresses: [...ADDRESSES], topics: [TOPICS[1]] })).toEqual([3]);
      expect(await passing({ addresses: [ADDRESSES[1]], topics: [TOPICS[1]] })).toEqual([]);
    });

    it('returns headers with the bloom of their logs, and an empty bloom for an empty block', async () => {
      const [header, empty] = await mine([aLog(0, 0, 1), aLog(1, 1, 2)], []);
      if (!header || !empty) throw new Error('no block');
      expect(header.logsBloom).toBe(bloomOf(await reader.logsOfBlock(header, ANY)));
      expect(bloomMayPass(empty.logsBloom, { addresses: [...ADDRESSES], topics: [] })).toBe(false);
    });

    it('returns the logs of a range, both ends included, in chain order', async () => {
      const [first] = await mine(
        [aLog(0, 0, 1)],
        [aLog(0, 0, 2), aLog(1, 0, 3), aLog(0, 1, 4)],
        [],
        [aLog(0, 0, 5)],
        [aLog(0, 0, 6)],
      );
      const from = first?.number ?? 0;
      const filter = { addresses: [ADDRESSES[0]], topics: [] };
      expect(dataOf(await reader.logsOfRange(from, from + 3, filter))).toEqual([1, 2, 4, 5]);
      expect(dataOf(await reader.logsOfRange(from + 1, from + 1, ANY))).toEqual([2, 3, 4]);
      expect(dataOf(await reader.logsOfRange(from + 2, from + 2, ANY))).toEqual([]);
    });

    it('returns the same logs again, and those of a block from its receipts', async () => {
      const [header, next] = await mine([aLog(0, 0, 1), aLog(1, 1, 2)], [aLog(0, 0, 3)]);
      if (!header || !next) throw new Error('no block');
      const { logs, disputed } = await reader.crossCheckedLogs(header.number, next.number, ANY);
      expect([logs, disputed]).toEqual([await reader.logsOfRange(header.number, next.number, ANY), []]);
      const receipts = await reader.receiptsOfBlock(header);
      expect(dataOf(receipts.logs)).toEqual([1, 2]);
      expect([...receipts.txHashes].sort()).toEqual(receipts.logs.map(({ txHash }) => txHash).sort());
      reader.compareWithBloom(header, receipts.logs);
      expect(reader.usesBlooms).toBe(true);
    });

    it('refuses a range that ends after the head, instead of returning a part', async () => {
      const [header] = await mine([aLog(0, 0, 1)]);
      const from = header?.number ?? 0;
      await expect(reader.logsOfRange(from, from + 1, ANY)).rejects.toThrow(ChainUnavailable);
    });

    it('returns no logs for an unknown block', async () => {
      const header = { ...(await reader.head()), hash: UNKNOWN_HASH };
      await expect(reader.logsOfBlock(header, ANY)).rejects.toThrow(ChainUnavailable);
    });

    it('tells whether an address has code', async () => {
      await mine([aLog(0, 0, 1)]);
      expect(await reader.hasCode(ADDRESSES[0])).toBe(true);
    });

    it('follows a reorganisation, and never returns the new logs for the old block', async () => {
      const [kept, old] = await mine([], [aLog(0, 0, 1)]);
      if (!kept || !old) throw new Error('no block');
      await opened.chain.rollBack(1);
      expect(await reader.head()).toEqual(kept);
      await opened.chain.mine([aLog(0, 0, 2)]);
      const head = await reader.head();
      expect(head).toMatchObject({ number: old.number, parentHash: kept.hash });
      expect(head.hash).not.toBe(old.hash);
      const logsOfOld = await reader.logsOfBlock(old, ANY).catch((error: unknown) => {
        if (!(error instanceof ChainUnavailable)) throw error;
        return [aLog(0, 0, 1)];
      });
      expect(dataOf(logsOfOld)).toEqual([1]);
    });
  });
};
