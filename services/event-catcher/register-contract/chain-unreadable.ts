import { unavailable, type Refusal } from '../../../shared/errors/refusal.ts';
import type { ChainUnavailable, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { DeadlineExceeded } from '../../../shared/primitives/within-deadline.ts';

/**
 * Refuses because of what a chain's providers answer, and says what that is: each is named by its number, and its words are without
 * URLs, hosts and keys.
 */
export const chainUnreadable = (error: ChainUnavailable | RangeTooLarge | DeadlineExceeded): Refusal => {
  const why = error instanceof DeadlineExceeded ? 'its providers did not answer in time' : error.message;
  return unavailable(`the chain cannot be read now: ${why}`, error);
};
