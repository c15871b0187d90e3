import kafkajs from 'kafkajs';
import { compressFrameSync, decompressFrameSync } from 'lz4-napi';
import { compressSync, uncompressSync } from 'snappy';
import { compress, decompress } from '../../../primitives/sqlite/stored-batches.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Precedes the output of Java's snappy: a magic word and two versions, then blocks, each preceded by its length. */
const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEADER_BYTES = 16;

/** Registers codecs. kafkajs has gzip only, and a consumer stops at a message of another codec. */
export const registerCodecs = (): void => {
  Object.assign(CompressionCodecs, {
    [CompressionTypes.ZSTD]: codec(compress, decompress),
    [CompressionTypes.LZ4]: codec(compressFrameSync, decompressFrameSync),
    [CompressionTypes.Snappy]: codec(compressSync, fromSnappy),
  });
};

const codec = (compress: (buffer: Buffer) => Buffer, decompress: (buffer: Buffer) => Buffer) => () => ({
  compress: ({ buffer }: { buffer: Buffer }) => Promise.resolve(compress(buffer)),
  decompress: (buffer: Buffer) => Promise.resolve(decompress(buffer)),
});

const fromSnappy = (buffer: Buffer): Buffer => {
  if (!buffer.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappyBlock(buffer);
  const blocks: Buffer[] = [];
  for (let at = XERIAL_HEADER_BYTES; at < buffer.length;) {
    const start = at + Int32Array.BYTES_PER_ELEMENT;
    at = start + buffer.readUInt32BE(at);
    blocks.push(snappyBlock(buffer.subarray(start, at)));
  }
  return Buffer.concat(blocks);
};

const snappyBlock = (block: Buffer): Buffer => Buffer.from(uncompressSync(block));
