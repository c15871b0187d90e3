import type { SQLInputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/**
 * Computes the CRC-32 of a row, which is stored with the row, because SQLite itself does not notice when the disk
 * changes a byte. The encoding is stored data and changes only with a new column: texts in UTF-8, numbers in decimal
 * digits, each value followed by a byte 1, NULL by a byte 2; the last value may be a BLOB.
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

/** Whether a row is as it was written. */
export const isWhole = (values: readonly SQLInputValue[], crc: unknown): boolean => crc === rowCrc(values);
