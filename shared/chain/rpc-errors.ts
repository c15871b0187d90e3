/** What a provider's refusal means for whoever asked. */
export type RpcTrouble = 'range-too-large' | 'rate-limited' | 'other';

/**
 * Providers say "too many blocks or results" in some thirty texts. Rate limits, billing and blocks beyond the head use
 * similar words, so those are looked for first.
 */
const RATE = /rate.?limit|too many requests|request limit|throttl|compute units|credits|quota|capacity|billing|upgrade|\b429\b/i;
const HEAD = /beyond (the )?(current )?head|after last accepted|unknown block|block not found|future/i;
const ADDRESSES = /too many addresses|addresses? (count|limit)/i;
const RANGE =
  /block.?range|range (is )?too|too (many|large|wide|big)|more than \d+ (results|logs|blocks)|query returned|response size|result.?set|limited to|exceed|max(imum)? (block|result|log|allowed)|up to a? ?[\d,]+ ?block|narrow|reduce/i;

export const troubleOf = (text: string, status?: number): RpcTrouble => {
  if (status === 429 || RATE.test(text)) return 'rate-limited';
  if (HEAD.test(text) || ADDRESSES.test(text)) return 'other';
  if (status === 413 || RANGE.test(text)) return 'range-too-large';
  return 'other';
};
