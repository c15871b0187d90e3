/** Valid JSON, of ours and of chains, has only a few levels. Megabytes of brackets would parse into gigabytes. */
const DEPTH_MAX = 64;
const [quote, backslash, comma, bracket, brace, bracketEnd, braceEnd] = Buffer.from('"\\,[{]}') as unknown as Seven;
type Seven = [number, number, number, number, number, number, number];

/**
 * Whether JSON that is not parsed yet nests at most 64 arrays and objects and has at most `valuesMax` values, arrays
 * and objects included. For invalid JSON, this counts as far as a parser would read.
 */
export const isParsable = (bytes: Uint8Array, valuesMax = Infinity): boolean => {
  const { length } = bytes;
  let [depth, values] = [0, 1];
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfText(bytes, at + 1);
    else if (byte === comma) values += 1;
    else if (byte === bracket || byte === brace) {
      depth += 1;
      values += 1;
      if (depth > DEPTH_MAX) return false;
    } else if (byte === bracketEnd || byte === braceEnd) depth -= 1;
  }
  return values <= valuesMax;
};

/** Finds the quote that ends a text; returns the end if none does. */
const endOfText = (bytes: Uint8Array, from: number): number => {
  const found = bytes.indexOf(quote, from);
  if (found === -1) return bytes.length;
  if (bytes[found - 1] !== backslash) return found;
  let at = from;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
};
