import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { aRecord } from '../testing/fake-catcher.ts';
import type { StreamClient } from '../testing/stream-client.socketio.ts';
import { streamUnderTest } from '../testing/stream-under-test.module.ts';

const WITHIN_MS = 20_000;

describe('the state of the watch of a subscription', () => {
  let stream: Awaited<ReturnType<typeof streamUnderTest>>;
  let contractAddress: string;
  let watchId: string;
  let client: StreamClient;
  beforeEach(async () => {
    // In stopped time no catcher falls silent, however long the machine takes.
    stream = await streamUnderTest({ clock: { ...systemClock, elapsed: () => 0 } });
    contractAddress = await stream.registerContract();
    watchId = await stream.catcher.register(contractAddress);
    client = await stream.connect();
  });
  afterEach(() => stream.close());
  const told = (of = client) =>
    of.messages.flatMap(({ name, message }) => (name === 'state' || name === 'stopped' ? [message] : []));
  const waitUntilTold = (count: number, of = client) =>
    eventually(() => told(of).length >= count, WITHIN_MS, `the client must be told ${String(count)} times`);
  const changeWatch = (type: 'WatchPaused' | 'WatchResumed', reason?: 'app' | 'operator' | 'records') =>
    stream.catcher.changeWatch(type, { watchId, contractAddress, ...(reason && { reason }) });
  const removeWatch = (appId: string) =>
    stream.catcher.changeWatch('WatchRemoved', { watchId, contractAddress, appId });

  it('is told when it is paused, and when it is read again, each once', async () => {
    const { subscriptionId, state } = await client.subscribe(contractAddress);
    expect(state).toBe('live');
    await changeWatch('WatchPaused', 'operator');
    await waitUntilTold(1);
    await changeWatch('WatchResumed');
    await waitUntilTold(2);
    await changeWatch('WatchPaused', 'app');
    await waitUntilTold(3);
    expect(told()).toEqual([
      { subscriptionId, state: 'paused', lastError: 'the operator paused this registration' },
      { subscriptionId, state: 'live', lastError: null },
      { subscriptionId, state: 'paused', lastError: null },
    ]);
  });

  it('is told when its chain cannot be read, and when it can again', async () => {
    const { subscriptionId } = await client.subscribe(contractAddress, { finality: 'finalized' });
    stream.catcher.chainError = 'no provider answers';
    await waitUntilTold(1);
    stream.catcher.chainError = null;
    await waitUntilTold(2);
    expect(told()).toEqual([
      { subscriptionId, state: 'failed', lastError: 'no provider answers' },
      { subscriptionId, state: 'live', lastError: null },
    ]);
  });

  it('is in the answer to subscribe, also to one that asks for history', async () => {
    await changeWatch('WatchPaused', 'app');
    const { state } = await client.subscribe(contractAddress, { fromBlock: 0 });
    expect(state).toBe('paused');
    await client.waitForMessage('live');
    await changeWatch('WatchResumed');
    await waitUntilTold(1);
    expect(told()).toMatchObject([{ state: 'live' }]);
    stream.catcher.chainError = 'no provider answers';
    await waitUntilTold(2);
    const other = await stream.connect();
    expect((await other.subscribe(contractAddress)).state).toBe('failed');
    expect(told(other)).toEqual([]);
  });

  it('is the same for who subscribes after others were told of it', async () => {
    const contract = await stream.registerContract();
    const first = await stream.connect();
    await first.subscribe(contract);
    const watch = { watchId: await stream.catcher.register(contract), contractAddress: contract };
    await stream.catcher.changeWatch('WatchPaused', { ...watch, reason: 'app' });
    await waitUntilTold(1, first);
    const second = await stream.connect();
    expect((await second.subscribe(contract)).state).toBe('paused');
  });

  it('ends the subscription when the last who holds the watch drops it, and no other subscription', async () => {
    const other = await stream.registerContract();
    await client.subscribe(other);
    const { subscriptionId } = await client.subscribe(contractAddress);
    await stream.catcher.register(contractAddress, undefined, { watchId, appId: 'app_2' });
    await removeWatch('app_1');
    await changeWatch('WatchPaused', 'app');
    await waitUntilTold(1);
    expect(told()).toMatchObject([{ state: 'paused' }]);
    await removeWatch('app_2');
    await waitUntilTold(2);
    expect(told()[1]).toEqual({ subscriptionId, code: 'watch_not_found' });
    expect((await client.refused('unsubscribe', { subscriptionId })).code).toBe('subscription_not_found');
    await stream.catcher.observe(aRecord({ contractAddress: other, block: 1 }));
    expect(await client.waitForEvents(1)).toHaveLength(1);
  });

  it('is not told any more after unsubscribe', async () => {
    const { subscriptionId } = await client.subscribe(contractAddress);
    await client.request('unsubscribe', { subscriptionId });
    const other = await stream.connect();
    await other.subscribe(contractAddress);
    await changeWatch('WatchPaused', 'app');
    await waitUntilTold(1, other);
    expect(told()).toEqual([]);
  });
});
