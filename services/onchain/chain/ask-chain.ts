import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';

/** @throws Refusal dependency_unavailable where the chain does not answer */
export const askChain = async <Answer>(chainId: number, ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    throw unavailable(`chain ${String(chainId)} does not answer`, error);
  }
};
