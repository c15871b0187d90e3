import { describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { compressSync } from 'snappy';
import { registerCodecs } from './compression-codecs.kafka.ts';

interface Codec {
  compress: (encoder: { buffer: Buffer }) => Promise<Buffer>;
  decompress: (buffer: Buffer) => Promise<Buffer>;
}
/** The types of kafkajs declare only gzip. */
const codecs = kafkajs.CompressionCodecs as unknown as Record<number, () => Codec>;
const codecOf = (type: number): Codec => {
  const make = codecs[type];
  if (!make) throw new Error(`kafkajs has no codec ${String(type)}`);
  return make();
};

describe('compression codecs', () => {
  const { Snappy, LZ4, ZSTD } = kafkajs.CompressionTypes;
  const plain = Buffer.from('a log of a transfer, '.repeat(10_000));

  it.each([
    ['snappy', Snappy],
    ['lz4', LZ4],
    ['zstd', ZSTD],
  ])('return what was compressed with %s', async (_, type) => {
    registerCodecs();
    const compressed = await codecOf(type).compress({ buffer: plain });
    expect(compressed.length).toBeLessThan(plain.length / 4);
    expect(await codecOf(type).decompress(compressed)).toEqual(plain);
  });

  it('read the blocks that snappy of Java writes', async () => {
    registerCodecs();
    const blocks = [plain.subarray(0, 32_768), plain.subarray(32_768)].map((block) => compressSync(block));
    const header = Buffer.concat([Buffer.from([0x82]), Buffer.from('SNAPPY\0'), Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);
    const framed = blocks.flatMap((block) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(block.length);
      return [length, block];
    });
    expect(await codecOf(Snappy).decompress(Buffer.concat([header, ...framed]))).toEqual(plain);
  });
});
