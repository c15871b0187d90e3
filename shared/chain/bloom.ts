import { hash } from 'node:crypto';
import type { ChainLog, LogFilter } from './chain-reader.ts';

/** The three bits that an address or a topic sets in a block's bloom (Yellow Paper, section 4.3.1). */
export type BloomBits = readonly [number, number, number];

const BLOOM_BYTES = 256;

/** A bloom that rules nothing out, for a block whose bloom is unknown, or a chain without blooms. */
export const BLOOM_OF_EVERYTHING = `0x${'ff'.repeat(BLOOM_BYTES)}`;
export const BLOOM_OF_NOTHING = `0x${'00'.repeat(BLOOM_BYTES)}`;

/** Reported for a block whose logs, as an endpoint returns them, do not explain its bloom. */
export const BLOOM_MISMATCH =
  'logs that the bloom announces are missing (if the blooms of this chain cannot be believed, set "bloom": false for it in CHAINS)';

export const bloomBits = (hex: string): BloomBits => {
  const hashed = hash('keccak-256', Buffer.from(hex.slice(2), 'hex'), 'hex');
  const bit = (at: number) => Number.parseInt(hashed.slice(at, at + 4), 16) & 0x7ff;
  return [bit(0), bit(4), bit(8)];
};

/** Whether a block can hold a log that set these bits. `false` is certain, `true` is not. */
export const bloomMayContain = (logsBloom: string, bits: BloomBits): boolean =>
  bits.every((bit) => {
    const at = 2 + byteOf(bit) * 2;
    return (Number.parseInt(logsBloom.slice(at, at + 2), 16) & (1 << (bit & 7))) !== 0;
  });

/** Whether a block can hold a log that passes the filter. `false` is certain, `true` is not. */
export const bloomMayPass = (logsBloom: string, { addresses, topics }: LogFilter): boolean =>
  [addresses, topics].every(
    (choices) => choices.length === 0 || choices.some((choice) => bloomMayContain(logsBloom, bloomBits(choice))),
  );

/** Counts the bits of a bloom that are set. */
export const bitsOfBloom = (logsBloom: string): number =>
  Array.from(logsBloom.slice(2), (digit) => BITS_OF_DIGIT[Number.parseInt(digit, 16)] ?? 0).reduce(
    (sum, bits) => sum + bits,
    0,
  );
const BITS_OF_DIGIT = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];

/**
 * Probability that a bloom matches at least one of this many items by chance, when none of them is in the block. An
 * item is an address or a topic, but not both of an event, because the other one may really be there.
 */
export const chanceInBloom = (logsBloom: string, items: number): number =>
  1 - (1 - (bitsOfBloom(logsBloom) / (8 * BLOOM_BYTES)) ** BITS_OF_ITEM) ** items;
const BITS_OF_ITEM = 3;

/** Returns the bloom of a block with these logs. */
export const bloomOf = (logs: readonly Pick<ChainLog, 'address' | 'topics'>[]): string => {
  const bloom = Buffer.alloc(BLOOM_BYTES);
  for (const item of new Set(logs.flatMap(({ address, topics }) => [address, ...topics]))) {
    for (const bit of bloomBits(item)) bloom.writeUInt8(bloom.readUInt8(byteOf(bit)) | (1 << (bit & 7)), byteOf(bit));
  }
  return `0x${bloom.toString('hex')}`;
};

/** Whether every bit of `part` is set in `whole`. */
export const isPartOfBloom = (part: string, whole: string): boolean => BigInt(part) === (BigInt(part) & BigInt(whole));

/** The lowest bit is in the last byte. */
const byteOf = (bit: number): number => BLOOM_BYTES - 1 - (bit >> 3);
