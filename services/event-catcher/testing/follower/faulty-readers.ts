import type { MemoryChain } from '../../../../shared/testing/chain/chain-reader.memory.ts';
import { bloomMayPass } from '../../../../shared/chain/bloom.ts';
import {
  BlocksRefused,
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainReader,
  type LogFilter,
} from '../../../../shared/chain/chain-reader.ts';
import { overriding } from '../overriding.ts';

/** A node that no longer has the blocks that were reorganised away. */
export const canonicalOnly = (chain: MemoryChain): ChainReader =>
  overriding<ChainReader>(chain, {
    headerByHash: async (hash) => {
      const header = await chain.headerByHash(hash);
      return header && (await isCanonical(chain, header)) ? header : undefined;
    },
    logsOfBlock: async (header, filter) => {
      if (!(await isCanonical(chain, header))) throw new ChainUnavailable('unknown block');
      return chain.logsOfBlock(header, filter);
    },
  });

const isCanonical = async (
  chain: MemoryChain,
  { number, hash }: { number: number; hash: string },
): Promise<boolean> => {
  const [header] = await chain.headersByNumber([number]);
  return header?.hash === hash;
};

/** A provider of a chain without a finalized block that says this is its head. */
export const withHead = (reader: ChainReader, head: () => Promise<BlockHeader>): ChainReader =>
  overriding<ChainReader>(reader, {
    head,
    headAndFinalized: async () => ({ head: await head(), finalized: undefined }),
  });

/** Runs `interrupt` once, just before the call of this number is answered. */
export const interrupted = (reader: ChainReader, calls: number, interrupt: () => Promise<void>): ChainReader => {
  let left = calls;
  return new Proxy(reader, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        left -= 1;
        if (left === 0) await interrupt();
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
};

/** A provider that answers no range before it is opened. */
export const gated = (reader: ChainReader) => {
  const { promise: gate, resolve } = Promise.withResolvers<undefined>();
  const logsOfRange: ChainReader['logsOfRange'] = async (...asked) => {
    await gate;
    return reader.logsOfRange(...asked);
  };
  return {
    reader: overriding<ChainReader>(reader, { logsOfRange }),
    open: () => {
      resolve(undefined);
    },
  };
};

/** A provider that answers `[]` to so many questions for logs. */
export interface Withholding {
  left: number;
  /**
   * With blooms it is the only one, and cannot deny what the bloom of a single block promises. Else there is another one, which
   * leaves out nothing, and is asked only when logs are asked for again.
   */
  has: 'blooms' | 'another';
}

/** A refusal counts as so many answers. */
const REFUSED_AS = 3;

export const withholding = (reader: ChainReader, withheld: Withholding): ChainReader => {
  const withholds = () => (withheld.left -= 1) >= 0;
  return overriding<ChainReader>(reader, {
    logsOfRange: (from, to, filter) => (withholds() ? Promise.resolve([]) : reader.logsOfRange(from, to, filter)),
    logsOfBlock: (header, filter) => {
      if (!withholds() || (withheld.has === 'blooms' && !bloomMayPass(header.logsBloom, filter)))
        return reader.logsOfBlock(header, filter);
      if (withheld.has === 'another') return Promise.resolve([]);
      // Who waits after each failure, and longer each time, gets an answer in the end.
      withheld.left -= REFUSED_AS;
      return Promise.reject(new ChainUnavailable('logs that the bloom announces are missing'));
    },
    crossCheckedLogs: async (from, to, filter) => {
      const again = await reader.crossCheckedLogs(from, to, filter);
      if (withheld.has === 'another') return { ...again, endpoints: 2 };
      return withholds() ? { logs: [], disputed: [], endpoints: 1 } : again;
    },
    receiptsOfBlock: (header) =>
      withholds() ? Promise.reject(new ChainUnavailable('no receipts')) : reader.receiptsOfBlock(header),
  });
};

/** A provider that has no logs of some blocks any more. */
export const withoutBlocks = (
  reader: ChainReader,
  isMissing: (block: number) => boolean,
  isPrunedEverywhere = true,
): ChainReader => {
  const refusal = { reason: 'provider 1: pruned history unavailable', isPrunedEverywhere };
  const among = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at).some((block) => isMissing(block));
  const given = <Answer>(from: number, to: number, answer: () => Promise<Answer>): Promise<Answer> =>
    among(from, to) ? Promise.reject(new BlocksRefused('pruned history unavailable', refusal)) : answer();
  return overriding<ChainReader>(reader, {
    logsOfRange: (from, to, filter) => given(from, to, () => reader.logsOfRange(from, to, filter)),
    crossCheckedLogs: (from, to, filter) => given(from, to, () => reader.crossCheckedLogs(from, to, filter)),
  });
};

/** A provider that treats logs of these contracts differently. */
export const except = (
  reader: ChainReader,
  contracts: () => readonly string[],
  answer: () => Promise<never> = () => Promise.reject(new ChainUnavailable('refused')),
  methods: readonly ('logsOfRange' | 'logsOfBlock' | 'crossCheckedLogs')[] = ['logsOfRange', 'logsOfBlock'],
): ChainReader => {
  const isOne = ({ addresses }: LogFilter) => addresses.some((address) => contracts().includes(address));
  const all: Pick<ChainReader, (typeof methods)[number]> = {
    logsOfRange: (from, to, filter) => (isOne(filter) ? answer() : reader.logsOfRange(from, to, filter)),
    logsOfBlock: (header, filter) => (isOne(filter) ? answer() : reader.logsOfBlock(header, filter)),
    crossCheckedLogs: (from, to, filter) => (isOne(filter) ? answer() : reader.crossCheckedLogs(from, to, filter)),
  };
  return overriding<ChainReader>(reader, Object.fromEntries(methods.map((method) => [method, all[method]])));
};

/** A provider that takes ranges of so many blocks at most. */
export const takingAtMost = (reader: ChainReader, blocks: number): ChainReader =>
  overriding<ChainReader>(reader, {
    logsOfRange: (from, to, filter) =>
      to - from >= blocks
        ? Promise.reject(new RangeTooLarge(`at most ${String(blocks)} blocks`, { blocks }))
        : reader.logsOfRange(from, to, filter),
  });

/** A provider whose head cannot be asked for while it is down. */
export const downWhile = (reader: ChainReader, isDown: () => boolean): ChainReader =>
  withHead(reader, () => (isDown() ? Promise.reject(new ChainUnavailable('down')) : reader.head()));
