import { crc32 } from 'node:zlib';
import type { Partitioning } from '../../schemas/announcements.ts';

/** Returns the partition of a key. */
export const partitionOfKey = ({ hash, partitions }: Partitioning, key: string): number =>
  hashes[hash](Buffer.from(key)) % partitions;

const [SEED, FACTOR] = [0x9747b28c, 0x5bd1e995];

/** As in the Kafka client of Java, whose default partitioner leaves out the sign. */
const murmur2 = (bytes: Buffer): number => {
  let hash = SEED ^ bytes.length;
  const rest = bytes.length & ~3;
  for (let at = 0; at < rest; at += 4) {
    const word = Math.imul(bytes.readInt32LE(at), FACTOR);
    hash = Math.imul(hash, FACTOR) ^ Math.imul(word ^ (word >>> 24), FACTOR);
  }
  if (rest < bytes.length) hash = Math.imul(hash ^ bytes.readUIntLE(rest, bytes.length - rest), FACTOR);
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
};

const hashes: Record<Partitioning['hash'], (bytes: Buffer) => number> = { murmur2, crc32 };
