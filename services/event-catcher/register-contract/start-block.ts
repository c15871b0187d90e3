import { ChainUnavailable, StateUnavailable } from '../../../shared/chain/chain-reader.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/within-deadline.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { chainUnreadable } from './chain-unreadable.ts';
import { CodeHistory } from './first-code.ts';

/** A block; the newest one; or the first one in which the contract ever had code. */
export type AskedStartBlock = number | 'latest' | 'deploy';

export interface StartBlock {
  startBlock: number;
  headBlock: number;
  /** Whether the contract has code at the head. */
  hasCode: boolean;
  warnings: string[];
}

/** A request is answered in 4.5 s, and has 10 s more for the block of the deployment. The rest is for what is asked afterwards. */
const TOLD_WITHIN_MS = 2_500;
const DEPLOYMENT_WITHIN_MS = 12_000;

/**
 * Decides where a watch begins. Where a contract without code was deployed is not known, unless it had code before: that is the head.
 * @throws Refusal start_block_in_future, deploy_block_unknown, dependency_unavailable
 */
export const resolveStartBlock = async (
  chain: SupportedChain,
  contractAddress: string,
  asked: AskedStartBlock,
  withinMs = asked === 'deploy' ? DEPLOYMENT_WITHIN_MS : TOLD_WITHIN_MS,
): Promise<StartBlock> => {
  const contract = contractAddress.toLowerCase();
  const endsAt = performance.now() + withinMs;
  try {
    const [{ number: head }, hasCode] = await within(endsAt, Promise.all([chain.head(), chain.hasCode(contract)]));
    if (typeof asked === 'number' && asked > head) {
      throw new Refusal('start_block_in_future', `the newest block is ${String(head)}`);
    }
    const warnings = hasCode ? [] : [`the contract has no code at block ${String(head)}`];
    if (asked !== 'deploy') {
      return { startBlock: asked === 'latest' ? head : asked, headBlock: head, hasCode, warnings };
    }
    const { block = head, isCertain } = await new CodeHistory(chain, contract, endsAt).findFirst(head, hasCode);
    if (!isCertain) warnings.push(uncertain(block));
    return { startBlock: block, headBlock: head, hasCode, warnings };
  } catch (error) {
    if (error instanceof StateUnavailable) {
      const detail = 'no provider of this chain keeps the state of old blocks: give startBlock as a number';
      throw new Refusal('deploy_block_unknown', detail, { cause: error });
    }
    if (!(error instanceof ChainUnavailable || error instanceof DeadlineExceeded)) throw error;
    throw chainUnreadable(error);
  }
};

const uncertain = (block: number): string =>
  `whether the contract had code before block ${String(block)}, and lost it, is not known: only some earlier blocks were looked ` +
  'into. If it was destroyed and made again, or is an account that delegates (EIP-7702), give startBlock as a number';

const within = <Answer>(endsAt: number, answer: Promise<Answer>): Promise<Answer> =>
  withinDeadline('the chain', Math.max(0, endsAt - performance.now()), answer);
