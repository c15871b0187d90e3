import type { SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/**
 * Computes the CRC-32 of a row, which is stored with it: SQLite itself does not notice when the disk changes a byte of it.
 * It is stored, and changes only by a new column: texts are in UTF-8 and numbers in decimal digits, each value before a
 * byte 1, NULL before a byte 2; and the last value may be a BLOB.
 */
export const rowCrc = (values: readonly SQLInputValue[]): number => {
  let text = '';
  let crc = 0;
  for (const value of values) {
    if (ArrayBuffer.isView(value)) {
      crc = crc32(value, crc32(text, crc));
      text = '\u0001';
    } else text += value === null ? '\u0002' : `${String(value)}\u0001`;
  }
  return crc32(text, crc);
};

/** Whether a row is as it was written. One of before has no CRC, and is taken as it is. */
export const isWhole = (values: readonly SQLInputValue[], crc: unknown): boolean =>
  crc === null || crc === rowCrc(values);
