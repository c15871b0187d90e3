import { ExportNotProven } from './export-not-proven.ts';

/** The longest line of an event has some hundred kilobytes. */
const LINE_BYTES_MAX = 16 * 1_024 * 1_024;
const LINE_FEED = 0x0a;

/** Yields the lines of an export, byte by byte as they are. @throws ExportNotProven for what cannot be lines of an export */
export async function* exportLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = Buffer.alloc(0);
  let number = 1;
  const where = () => `line ${String(number)}`;
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = rest.indexOf(LINE_FEED, from); end !== -1; end = rest.indexOf(LINE_FEED, from)) {
      yield decoded(decoder, rest.subarray(from, end), where());
      from = end + 1;
      number += 1;
    }
    rest = rest.subarray(from);
    if (rest.length > LINE_BYTES_MAX) throw new ExportNotProven(`${where()} is longer than any line of an export`);
  }
  if (rest.length > 0) throw new ExportNotProven(`${where()} does not end with a line feed: the export was cut there`);
}

const decoded = (decoder: TextDecoder, bytes: Uint8Array, where: string): string => {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new ExportNotProven(`${where} is not UTF-8`, { cause });
  }
};
