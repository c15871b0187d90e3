import { keccak256 } from 'ethers';

/** The three bits that an address or a topic sets in a block's bloom (Yellow Paper, section 4.3.1). */
export type BloomBits = readonly [number, number, number];

const BLOOM_BYTES = 256;

export const bloomBits = (hex: string): BloomBits => {
  const hashed = Buffer.from(keccak256(hex).slice(2), 'hex');
  const bit = (at: number) => ((hashed.readUInt16BE(at) & 0x7ff) >>> 0);
  return [bit(0), bit(2), bit(4)];
};

/** Whether a block can hold a log that set these bits; `false` is certain. */
export const bloomMayContain = (logsBloom: string, bits: BloomBits): boolean =>
  bits.every((bit) => {
    const byte = BLOOM_BYTES - 1 - (bit >> 3);
    return (Number.parseInt(logsBloom.slice(2 + byte * 2, 4 + byte * 2), 16) & (1 << (bit & 7))) !== 0;
  });
