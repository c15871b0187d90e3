import { ChainUnavailable, MethodMissing } from '../../../shared/chain/chain-reader.ts';
import { unavailable } from '../../../shared/errors/refusal.ts';

/** @throws Refusal dependency_unavailable if the chain does not answer, or if its nodes lack a method */
export const askChain = async <Answer>(chainId: number, ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    if (error instanceof MethodMissing) throw unavailable(error.message, error);
    throw unavailable(`chain ${String(chainId)} does not answer`, error);
  }
};
