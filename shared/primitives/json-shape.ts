/** Valid JSON of ours and of chains has only a few levels. Megabytes of brackets would parse into gigabytes. */
const DEPTH_MAX = 64;
const [quote, backslash, comma, bracket, brace, bracketEnd, braceEnd] = [...Buffer.from('"\\,[{]}')];

/**
 * Whether JSON that is not parsed yet is nested no deeper than 64 arrays and objects, and has no more values than
 * that, each array and object counted too. Of invalid JSON it tells this up to where a parser stops.
 */
export const isParsable = (bytes: Uint8Array, valuesMax = Infinity): boolean => {
  let [depth, values, isInText] = [0, 1, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) isInText = !isInText;
    else if (isInText) at += byte === backslash ? 1 : 0;
    else if (byte === comma) values += 1;
    else if (byte === bracket || byte === brace) [depth, values] = [depth + 1, values + 1];
    else if (byte === bracketEnd || byte === braceEnd) depth -= 1;
    if (depth > DEPTH_MAX || values > valuesMax) return false;
  }
  return true;
};
