import { ChainUnavailable, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/within-deadline.ts';
import type { SupportedChain } from '../edge/ports.ts';

export interface StartBlock {
  startBlock: number;
  headBlock: number;
  /** Whether the contract has code at the head. */
  hasCode: boolean;
}

/** The deadline of a request that asks for the block of the deployment. */
const DEPLOYMENT_WITHIN_MS = 15_000;

/**
 * Decides where a watch begins. Where a contract without code was deployed is not known: that is the head.
 * @throws Refusal start_block_in_future, deploy_block_unknown, dependency_unavailable
 */
export const resolveStartBlock = async (
  chain: SupportedChain,
  contractAddress: string,
  asked: number | 'deploy',
  withinMs = DEPLOYMENT_WITHIN_MS,
): Promise<StartBlock> => {
  const contract = contractAddress.toLowerCase();
  const endsAt = performance.now() + withinMs;
  try {
    const { number: head } = await within(endsAt, chain.head());
    if (asked !== 'deploy' && asked > head) {
      throw new Refusal('start_block_in_future', `the newest block is ${String(head)}`);
    }
    const hasCode = await within(endsAt, chain.hasCode(contract));
    if (asked !== 'deploy') return { startBlock: asked, headBlock: head, hasCode };
    const startBlock = hasCode ? await findDeployment(chain, contract, head, endsAt) : head;
    return { startBlock, headBlock: head, hasCode };
  } catch (error) {
    if (error instanceof StateUnavailable) {
      const detail = 'no provider of this chain keeps the state of old blocks: give startBlock as a number';
      throw new Refusal('deploy_block_unknown', detail, { cause: error });
    }
    if (!(error instanceof ChainUnavailable || error instanceof DeadlineExceeded)) throw error;
    throw unavailable('the chain does not answer', error);
  }
};

const within = <Answer>(endsAt: number, answer: Promise<Answer>): Promise<Answer> =>
  withinDeadline('the chain', Math.max(0, endsAt - performance.now()), answer);

/** Finds the first block with code by binary search, in at most 53 steps. The block `head` must have code. */
const findDeployment = async (
  chain: SupportedChain,
  contract: string,
  head: number,
  endsAt: number,
): Promise<number> => {
  let from = 0;
  let to = head;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (await within(endsAt, chain.hasCode(contract, middle))) to = middle;
    else from = middle + 1;
  }
  return from;
};
