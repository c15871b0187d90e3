import { ChainUnavailable, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Anchor } from '../domain/window/anchors.ts';

/**
 * Returns the newest of these blocks, given oldest first, that is on the chain. A block that no provider has, perhaps
 * because it is pruned, does not count.
 */
export const newestOnChain = async (
  anchors: readonly Anchor[],
  reader: Pick<ChainReader, 'headersByNumber'>,
): Promise<Anchor | undefined> => {
  for (const anchor of anchors.toReversed()) {
    const [header] = await reader.headersByNumber([anchor.number]).catch((error: unknown) => {
      if (error instanceof ChainUnavailable) return [];
      throw error;
    });
    if (header?.hash === anchor.hash) return anchor;
  }
  return undefined;
};
