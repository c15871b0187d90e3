import { crc32 } from 'node:zlib';
import { expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { SeededRandom } from '../testing/simulation/seeded-random.ts';
import { partitionOfKey } from './partitioning.ts';

const PARTITIONS = 997;
const partitionFor = kafkajs.Partitioners.DefaultPartitioner();
const partitionMetadata = Array.from({ length: PARTITIONS }, (_, partitionId) => ({
  ...{ partitionId, partitionErrorCode: 0, leader: 0, replicas: [], isr: [] },
}));

it('a key has the partition that the default partitioner of Kafka gives it, whatever its length', () => {
  const random = new SeededRandom(997);
  for (let length = 0; length < 200; length += 1) {
    const characters = Array.from({ length }, () => String.fromCharCode(random.between(0, 255)));
    const key = `Ω${characters.join('')}`;
    const expected = partitionFor({ topic: 't', partitionMetadata, message: { key, value: null } });
    expect([key, partitionOfKey({ hash: 'murmur2', partitions: PARTITIONS }, key)]).toEqual([key, expected]);
    expect(partitionOfKey({ hash: 'crc32', partitions: 12 }, key)).toBe(crc32(key) % 12);
  }
});
