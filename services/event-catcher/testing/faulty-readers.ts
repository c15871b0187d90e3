import type { MemoryChain } from '../../../shared/chain/chain-reader.memory.ts';
import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { overriding } from './overriding.ts';

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
