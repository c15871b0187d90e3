import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { SupportedChain } from '../edge/ports.ts';

export interface StartBlock {
  startBlock: number;
  warnings: string[];
}

/**
 * Decides where a watch begins. A contract without code is accepted: it may be deployed later, or have destroyed
 * itself.
 * @throws Refusal start_block_in_future, dependency_unavailable
 */
export const resolveStartBlock = async (
  chain: SupportedChain,
  contractAddress: string,
  asked: number | 'deploy',
): Promise<StartBlock> => {
  const contract = contractAddress.toLowerCase();
  try {
    const { number: head } = await chain.head();
    if (asked !== 'deploy' && asked > head) {
      throw new Refusal('start_block_in_future', `the newest block is ${String(head)}`);
    }
    const hasCode = await chain.hasCode(contract);
    const warnings = hasCode ? [] : [`the contract has no code at block ${String(head)}`];
    if (asked !== 'deploy') return { startBlock: asked, warnings };
    return { startBlock: hasCode ? await findDeployment(chain, contract, head) : head, warnings };
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    throw unavailable('the chain does not answer', error);
  }
};

/** Finds the first block with code by binary search, in at most 53 steps. The block `head` must have code. */
const findDeployment = async (chain: SupportedChain, contract: string, head: number): Promise<number> => {
  let from = 0;
  let to = head;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (await chain.hasCode(contract, middle)) to = middle;
    else from = middle + 1;
  }
  return from;
};
