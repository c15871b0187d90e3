import { beforeEach, describe, expect, it } from '@jest/globals';
import type { BundlerEvent } from '../../../schemas/events/onchain/bundler-events.ts';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { BundlingControl } from './bundling-control.ts';
import { Mempool } from './mempool/mempool.ts';
import { BundlerStreams } from './mempool/bundler-streams.ts';

const CHAIN_ID = 2484;
const HASH = `0x${'a'.repeat(64)}`;

describe('a call of debug_bundler_*', () => {
  const clock = new TestClock();
  const mempool = new Mempool(true);
  let store: MemoryEventStore;
  let streams: BundlerStreams;
  beforeEach(() => {
    store = new MemoryEventStore();
    streams = new BundlerStreams(new Transactor(store, clock, systemIds), CHAIN_ID);
  });

  const stored = async (...events: BundlerEvent[]) => {
    await streams.bundling(() => events);
  };
  const manual: BundlerEvent = { type: 'BundlingModeSet', data: { chainId: CHAIN_ID, mode: 'manual' } };
  const requested = (requestId: string): BundlerEvent => ({
    type: 'BundleRequested',
    data: { chainId: CHAIN_ID, requestId },
  });
  const begun = async () => {
    const control = new BundlingControl(streams, clock);
    await control.refresh(mempool);
    return control;
  };
  const answers = async () =>
    (await store.read(`bundler-${String(CHAIN_ID)}`))
      .filter(({ type }) => type === 'BundleRequestAnswered')
      .map(({ data }) => [data['requestId'], data['transactionHash']]);

  it('is known to a process that begins later', async () => {
    await stored(manual);
    expect((await begun()).isPaused).toBe(true);
    await stored(requested('br_1'));
    expect(await begun()).toMatchObject({ isPaused: false, request: { requestId: 'br_1' } });
  });

  it('takes effect at the next refresh', async () => {
    const control = await begun();
    await stored(manual);
    control.note({ type: 'BundlingModeSet', data: { chainId: CHAIN_ID, mode: 'manual' } });
    expect(control.isPaused).toBe(false);
    await control.refresh(mempool);
    expect(control.isPaused).toBe(true);
  });

  it('is answered once and in order, no matter which process answers', async () => {
    await stored(manual, requested('br_1'), requested('br_2'));
    const [control, other] = [await begun(), await begun()];
    await control.answer(HASH, true);
    await other.answer(undefined, false);
    expect(await answers()).toEqual([['br_1', HASH]]);
    await control.answer(undefined, false);
    expect(await answers()).toEqual([
      ['br_1', HASH],
      ['br_2', null],
    ]);
    expect(control.isPaused).toBe(true);
  });

  it('waits for operations that cannot be sent yet, but not forever', async () => {
    await stored(requested('br_1'));
    const control = await begun();
    await control.answer(undefined, true);
    expect(await answers()).toEqual([]);
    clock.time += 5_001;
    await control.answer(undefined, true);
    expect(await answers()).toEqual([['br_1', null]]);
  });
});
