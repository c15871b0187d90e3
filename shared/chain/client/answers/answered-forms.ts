/** At most 13 digits, so that the number is a safe integer, after the leading zeros of up to 32 bytes. */
const QUANTITY = /^0[xX]0{0,51}[0-9a-fA-F]{1,13}$/;

export const ADDRESS = /^(?:0[xX])?[0-9a-fA-F]{40}$/;
export const HASH = /^(?:0[xX])?[0-9a-fA-F]{64}$/;
export const BLOOM = /^(?:0[xX])?[0-9a-fA-F]{512}$/;
export const BYTES = /^(?:0[xX])?(?:[0-9a-fA-F]{2})*$/;

/** Last second of the year 9999: times here have years of four digits. */
const TIME_MAX = 253_402_300_799;

/**
 * Reads a block number, a time or an index: JSON-RPC's `0x` hex, with or without leading zeros, or a JSON number.
 * Returns `undefined` for everything else, including digits without `0x`: "16" may mean sixteen or twenty-two.
 */
export const numberOf = (value: unknown): number | undefined => {
  if (typeof value === 'string') return QUANTITY.test(value) ? Number.parseInt(value, 16) : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
};

/** Unix seconds; `undefined` also for a time after the year 9999. */
export const timeOf = (value: unknown): number | undefined => {
  const seconds = numberOf(value);
  return seconds !== undefined && seconds <= TIME_MAX ? seconds : undefined;
};

/**
 * Reads bytes as lower-case `0x` hex. Accepts any case, and digits without `0x`.
 * @param pattern one of those above
 */
export const hexOf = (value: unknown, pattern: RegExp): string | undefined => {
  if (typeof value !== 'string' || !pattern.test(value)) return undefined;
  const text = value.toLowerCase();
  return text.startsWith('0x') ? text : `0x${text}`;
};
