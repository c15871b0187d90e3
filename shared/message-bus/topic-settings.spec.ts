import { expect, it } from '@jest/globals';
import { CannotStart } from '../errors/cannot-start.ts';
import { partitionsDiffer, withTopicSettings, defaultTopicSettings } from './topic-settings.ts';

const topic = { name: 'annals.users.v1', partitions: 12, retentionMs: 7 };

it('a topic has the prefix and the partitions that are set, else its own', () => {
  expect(withTopicSettings(topic, defaultTopicSettings)).toEqual(topic);
  expect(withTopicSettings(topic, { prefix: 'test.', partitions: { 'annals.users.v1': 3 } })).toEqual({
    name: 'test.annals.users.v1',
    partitions: 3,
    retentionMs: 7,
  });
});

it('a topic that exists with other partitions is named, and why that matters', () => {
  const error = partitionsDiffer(topic, 3);
  expect(error).toBeInstanceOf(CannotStart);
  expect(error.message).toMatch(/TOPIC_PARTITIONS.*annals\.users\.v1 has 3 partitions, not 12.*messages of a key/);
});
