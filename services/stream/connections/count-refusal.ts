import { problemCatalogue } from '../../../schemas/http/problem.ts';
import { refusalOf } from '../../../shared/edge/answers/problem-document.ts';
import { refuseExceeded, type RateLimits } from '../../../shared/edge/limits/rate-limits.ts';
import type { Refusal } from '../../../shared/errors/refusal.ts';

/**
 * Counts a refused connection against its address.
 * @returns the reason to give, which is `rate_limited` beyond the limit
 */
export const countRefusal = async (limits: RateLimits, address: string, refusal: Refusal): Promise<Refusal> => {
  if (problemCatalogue[refusal.code].status >= 500) return refusal;
  try {
    refuseExceeded(await limits.count('login', address));
    return refusal;
  } catch (error) {
    return refusalOf(error);
  }
};
