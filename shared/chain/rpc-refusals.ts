/** The refusal is about too many requests over time, not about the size of one request. */
const RATE =
  /rate.?limit|too many requests|requests? (limit|per|rate|count|quota)|calls? (rate|per)|per second|\/sec|throttl|compute units|credits|quota|capacity|billing|\brps\b|usage limit|(daily|monthly|plan|tier) limit|\b429\b/i;
/** The refusal is about blocks that do not exist yet or are no longer kept. */
const MISSING =
  /beyond|after last accepted|unfinalized|unknown block|not found|cannot be found|future|pruned|missing trie/i;
/** The refusal is about too many addresses or topics, for any number of blocks. */
const SELECTORS = /addresses|number of address|max topics|topics per|selectors|contains \d+ filters/i;
/** The refusal is about too many blocks, too many logs in them, or a search that takes too long. */
const RANGE =
  /block.?range|blocks? distance|range (is )?too|(is )?too (many|large|wide|big|broad)|more than [\d,]+k? (results|logs|blocks|events)|response size|response (is )?too|result.?set|limited to|limit exceeded|length limit|exceeds? (max|limit|the range|range)|max(imum)? (block|range|result|log|allowed|number)|at most [\d,]+k? block|ranges over|smaller than size|not supported on freetier|reduc\w+ (your|the) |time(d )?.?out|deadline exceeded/i;

/**
 * Whether a provider's refusal of logs means too many blocks or results in one request. Providers have some thirty
 * texts for it. Refusals about rates, billing, missing blocks and too many addresses use the same words, and are
 * matched first.
 */
export const saysRangeTooLarge = (text: string, httpStatus = 200): boolean => {
  if (httpStatus === 429 || [RATE, MISSING, SELECTORS].some((other) => other.test(text))) return false;
  return httpStatus === 413 || RANGE.test(text);
};

/** The refusal is about the state of a block that only archive nodes keep. */
const STATE =
  /missing trie|archive|prun(ed|ing)|(world )?state\b.{0,80}\b(unavailable|not (available|found|kept))|historical (state|data)|no state available|proof window|out.?of.?range/i;

/** Whether a provider's refusal of code means that it does not keep the state of that block. */
export const saysStateUnavailable = (text: string): boolean => !RATE.test(text) && STATE.test(text);

/** Whether the refusal is about several calls in one request. */
export const saysNoBatch = (text: string): boolean => /\bbatch/i.test(text);
