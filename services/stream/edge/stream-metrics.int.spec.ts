import { expect, it } from '@jest/globals';
import { aRecord } from '../testing/fake-catcher.ts';
import { StreamClient } from '../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

it('counts sockets, what they were sent, and how they caught up', async () => {
  await using stream = await streamUnderTest();
  const contractAddress = await stream.registerContract();
  const values = async () => {
    const read = await Promise.all(
      stream
        .measured()
        .map(async ({ name, read }) =>
          (await read()).map(({ labels, value, suffix = '' }) => [
            [name.replace('annals_stream_', '') + suffix, ...Object.values(labels)].join(' '),
            value,
          ]),
        ),
    );
    return Object.fromEntries(read.flat()) as Record<string, number>;
  };
  await StreamClient.refusal(stream.url(), { token: 'a.b.c' });
  const client = await stream.connect();
  const { cursor } = await client.subscribe(contractAddress);
  stream.catcher.store('observed', aRecord({ contractAddress, block: 1 }));
  await stream.catcher.project();
  await stream.catcher.publish();
  await client.waitForEvents(1);
  const again = await stream.connect();
  await again.subscribe(contractAddress, { cursor });
  await again.waitForMessage('live');
  const history = await stream.connect();
  await history.subscribe(contractAddress, { fromBlock: 0 });
  await history.waitForMessage('live');
  const measured = await values();
  expect(measured).toMatchObject({
    sockets: 3,
    subscriptions: 3,
    queue_bytes: 0,
    'accepts_total accepted': 3,
    'accepts_total token_invalid': 1,
    frames_total: 3,
    'resumes_total memory': 1,
    'resumes_total read_model': 1,
    delivery_seconds_count: 1,
    'delivery_seconds_bucket +Inf': 1,
  });
  expect(measured['sent_bytes_total']).toBeGreaterThan(3 * 500);
});
