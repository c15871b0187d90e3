import { ChainUnavailable, StateUnavailable, type RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import { DeadlineExceeded, withinDeadline } from '../../../shared/primitives/waiting/within-deadline.ts';
import type { SupportedChain } from '../edge/ports.ts';
import { CodeHistory } from './first-code.ts';

/** A block; the newest one; or the first one in which the contract ever had code. */
type AskedStartBlock = number | 'latest' | 'deploy';

interface StartBlock {
  startBlock: number;
  headBlock: number;
  /** Whether the contract has code at the head. */
  hasCode: boolean;
  warnings: string[];
}

/**
 * A request must be answered in 4.5 s, with 10 s more to find the block of the deployment. The rest is for what is
 * requested afterwards.
 */
const TOLD_WITHIN_MS = 2_500;
const DEPLOYMENT_WITHIN_MS = 12_000;

/**
 * Decides where a watch begins. The deployment block of a contract without code is unknown, unless it had code before;
 * then it is the head.
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

/**
 * Refuses because of what a chain's providers answer, and quotes it. Each provider is named by its number, and its
 * words contain no URLs, hosts or keys.
 */
export const chainUnreadable = (error: ChainUnavailable | RangeTooLarge | DeadlineExceeded): Refusal => {
  const why = error instanceof DeadlineExceeded ? 'its providers did not answer in time' : error.message;
  return unavailable(`the chain cannot be read now: ${why}`, error);
};

const uncertain = (block: number): string =>
  `whether the contract had code before block ${String(block)}, and lost it, is not known: only some earlier blocks were looked ` +
  'into. If it was destroyed and made again, or is an account that delegates (EIP-7702), give startBlock as a number';

const within = <Answer>(endsAt: number, answer: Promise<Answer>): Promise<Answer> =>
  withinDeadline('the chain', Math.max(0, endsAt - performance.now()), answer);
