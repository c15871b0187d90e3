import { constants } from 'node:buffer';
import { canonicalJson } from '../primitives/text/canonical-json.ts';

/**
 * Far above the longest line of an event, which has some hundred kilobytes, and for each line before it far above what the
 * last line has for it: a proof twice.
 */
const LINE_BYTES_MAX = 16 * 1_024 * 1_024;
const BYTES_MAX_BY_LINE = 16 * 1_024;
const LINE_FEED = 0x0a;
/** V8 makes no longer text. */
const LENGTH_MAX = constants.MAX_STRING_LENGTH;

/** An export could not be verified. The message says why, and at which line. */
export class ExportNotProven extends Error {
  override readonly name = 'ExportNotProven';
}

/**
 * Splits an export into its lines, without changing a byte.
 * @throws ExportNotProven for bytes that cannot be lines of an export
 */
export async function* exportLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The pieces of a line that has not ended yet. */
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let number = 1;
  const where = () => `line ${String(number)}`;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED, from); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      yield decoded(decoder, Buffer.concat([...pieces, chunk.subarray(from, end)]), where());
      [pieces, bytes, from] = [[], 0, end + 1];
      number += 1;
    }
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > LINE_BYTES_MAX + number * BYTES_MAX_BY_LINE)
      throw new ExportNotProven(`${where()} is longer than any line of an export`);
  }
  if (bytes > 0) throw new ExportNotProven(`${where()} does not end with a line feed: the export was cut there`);
}

const decoded = (decoder: TextDecoder, bytes: Uint8Array, where: string): string => {
  if (bytes.length > LENGTH_MAX) throw new ExportNotProven(`${where} is too long to be verified here`);
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new ExportNotProven(`${where} is not UTF-8`, { cause });
  }
};

/** Returns the RFC 8785 form of what a line says. @throws ExportNotProven for half a surrogate pair, which has none */
export const canonicalText = (value: object, where: string): string => {
  try {
    return canonicalJson(value);
  } catch (cause) {
    throw new ExportNotProven(`${where} has text that is not Unicode`, { cause });
  }
};
