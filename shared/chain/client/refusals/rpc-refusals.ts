import { halfRange, namedRange, type BlockRange, type SuggestedRange } from './suggested-range.ts';

/** Why an endpoint refused a request. */
export type Refusal =
  | ({ kind: 'range-too-large' } & SuggestedRange)
  /** Too many requests per time. `retryAfterMs`: how long to wait, if the endpoint says so. */
  | { kind: 'rate-limited'; retryAfterMs: number | undefined }
  /** The account with the provider allows no more, or does not exist: somebody has to pay, or to correct the key. */
  | { kind: 'billing' }
  /** Too many addresses or topics, for any number of blocks. */
  | { kind: 'too-many-addresses' }
  /** Blocks that the endpoint does not have, or not yet. */
  | { kind: 'beyond-head' }
  /** Blocks, or their logs or state, that the endpoint no longer keeps. */
  | { kind: 'state-pruned' }
  /** Several calls in one request, or too many of them. */
  | { kind: 'no-batch' }
  | { kind: 'other' };

/** The codes that accompany the text of a refusal. */
export interface RefusalCodes {
  httpStatus?: number | undefined;
  /** JSON-RPC's error code. */
  code?: number | undefined;
  /** The header `Retry-After`. */
  retryAfterMs?: number | undefined;
}

const NO_BATCH = /\bbatch/i;
const BILLING =
  /monthly (capacity|quota|limit)|capacity limit exceeded|usage (limit|has been consumed)|included usage|quota usage|payment required|billing|unauthorized|(invalid|unknown|missing|disabled).{0,10}(api|access).?(key|token)|authenticate your request|key is not allowed/i;
const RATE =
  /rate.?limit|over rate|rate exceeded|too many requests?\b|requests? (limit|per|rate|count|quota)|calls? (rate|per)|per second|\/sec|throttl|compute units|\bcu limit|credits|quota|\brps\b|usage limit|(daily|plan|tier) limit|on the free tier|error code: 1015|\b429\b/i;
/** anvil's text: "block height is 20 but requested was 5". */
const HEIGHT = /block height is (\d+) but requested was (\d+)/i;
const PRUNED =
  /missing trie|archive|prun(ed|ing)|(world )?state\b.{0,80}\b(unavailable|not (available|found|kept))|historical (state|data)|no state available|proof window|older than \d+ blocks|failed to get logs for block|history\b.{0,60}\b(unavailable|not available|expired|removed)|no longer (available|kept|stored|served)/i;
const BEYOND_HEAD =
  /beyond|after last accepted|unfinalized|(unknown|invalid) block\b(?! range)|(block|header)( \w+| for hash)? not found|cannot be found|future|out.?of.?range/i;
const ADDRESSES =
  /addresses|number of address|max topics|maximum of \d+ topics|topics per|selectors|contains \d+ filters/i;
const TOO_MANY_REQUESTS = 429;
const PAYMENT_REQUIRED = 402;
const UNAUTHORIZED = 401;
const CONTENT_TOO_LARGE = 413;
/** EIP-4444's code of the execution clients for pruned blocks. */
const PRUNED_HISTORY = 4444;
/** geth's code for a reverted call, whose text is the contract's. */
const REVERTED = 3;

/**
 * Classifies a refusal. Providers have some thirty texts for a range that is too large, and use the same words for
 * rates, accounts, missing blocks and addresses. A text that names an acceptable range is about the range, whatever
 * else it says; a 429 never is.
 * @param text including that of `data`
 * @param asked the blocks whose logs were requested; without them no refusal is about a range
 */
export const refusalOf = (text: string, codes: RefusalCodes = {}, asked?: BlockRange): Refusal => {
  const { httpStatus, code, retryAfterMs = waitOf(text) } = codes;
  if (code === REVERTED) return { kind: 'other' };
  if (code === PRUNED_HISTORY) return { kind: 'state-pruned' };
  if (httpStatus === PAYMENT_REQUIRED || httpStatus === UNAUTHORIZED) return { kind: 'billing' };
  if (httpStatus === TOO_MANY_REQUESTS || code === TOO_MANY_REQUESTS) {
    return BILLING.test(text) ? { kind: 'billing' } : { kind: 'rate-limited', retryAfterMs };
  }
  if (NO_BATCH.test(text)) return { kind: 'no-batch' };
  const named = asked && namedRange(text, asked);
  if (named) return { kind: 'range-too-large', ...named };
  if (BILLING.test(text)) return { kind: 'billing' };
  if (RATE.test(text)) return { kind: 'rate-limited', retryAfterMs };
  const missing = missingOf(text);
  if (missing) return { kind: missing };
  if (ADDRESSES.test(text)) return { kind: 'too-many-addresses' };
  const half = asked && halfRange(httpStatus === CONTENT_TOO_LARGE ? 'payload too large' : text, asked);
  return half ? { kind: 'range-too-large', ...half } : { kind: 'other' };
};

/** Returns all text of an error, including `data`. */
export const textOfError = (error: unknown): string => {
  const { message, data } = Object(error) as { message?: unknown; data?: unknown };
  if (typeof error !== 'string' && typeof message !== 'string') return JSON.stringify(error);
  const texts = [error, message].filter((text) => typeof text === 'string');
  if (data != null) texts.push(typeof data === 'string' ? data : JSON.stringify(data));
  return texts.join(' ');
};

const missingOf = (text: string): 'state-pruned' | 'beyond-head' | undefined => {
  const [, height, requested] = HEIGHT.exec(text) ?? [];
  if (height !== undefined) return Number(requested) > Number(height) ? 'beyond-head' : 'state-pruned';
  if (PRUNED.test(text)) return 'state-pruned';
  return BEYOND_HEAD.test(text) ? 'beyond-head' : undefined;
};

const WAIT = /(?:retry in|please wait|try_again_in\W+|backoff_seconds\W+) ?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms)?)?/i;

/** `retry in 10m0s`, `"backoff_seconds":30` */
const waitOf = (text: string): number | undefined => {
  const [found, minutes = '0', rest = '0', milliseconds] = WAIT.exec(text) ?? [];
  if (found === undefined) return undefined;
  return Number(minutes) * 60_000 + Number(rest) * (milliseconds === undefined ? 1_000 : 1);
};

/** Reads the header `retry-after`: it is a number of seconds, or a date. */
export const retryAfterMs = (header: string | null): number | undefined => {
  if (header === null) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
};
