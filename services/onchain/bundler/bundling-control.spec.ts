import { beforeEach, describe, expect, it } from '@jest/globals';
import type { BundlerEvent } from '../../../schemas/events/bundler-events.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { BundlingControl } from './bundling-control.ts';
import { OperationPool } from './operation-pool.ts';
import { Records } from './records.ts';

const CHAIN_ID = 2484;
const HASH = `0x${'a'.repeat(64)}`;

describe('what debug_bundler_* has asked the process that bundles', () => {
  const clock = new TestClock();
  const pool = new OperationPool(true);
  let store: MemoryEventStore;
  let records: Records;
  beforeEach(() => {
    store = new MemoryEventStore();
    records = new Records(new Transactor(store, clock, systemIds), CHAIN_ID);
  });

  const stored = async (...events: BundlerEvent[]) => {
    await records.bundling(() => events);
  };
  const manual: BundlerEvent = { type: 'BundlingModeSet', data: { chainId: CHAIN_ID, mode: 'manual' } };
  const requested = (requestId: string): BundlerEvent => ({
    type: 'BundleRequested',
    data: { chainId: CHAIN_ID, requestId },
  });
  const begun = async () => {
    const control = new BundlingControl(records, clock);
    await control.refresh(pool);
    return control;
  };
  const answers = async () =>
    (await store.read(`bundler-${String(CHAIN_ID)}`))
      .filter(({ type }) => type === 'BundleRequestAnswered')
      .map(({ data }) => [data['requestId'], data['transactionHash']]);

  it('is known to one that begins later', async () => {
    await stored(manual);
    expect((await begun()).holdsBack).toBe(true);
    await stored(requested('br_1'));
    expect(await begun()).toMatchObject({ holdsBack: false, request: { requestId: 'br_1' } });
  });

  it('counts from the next look on', async () => {
    const control = await begun();
    await stored(manual);
    control.take({ type: 'BundlingModeSet', data: { chainId: CHAIN_ID, mode: 'manual' } });
    expect(control.holdsBack).toBe(false);
    await control.refresh(pool);
    expect(control.holdsBack).toBe(true);
  });

  it('is answered in order, each once, whoever answers', async () => {
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
    expect(control.holdsBack).toBe(true);
  });

  it('waits for what cannot be sent yet, and not for ever', async () => {
    await stored(requested('br_1'));
    const control = await begun();
    await control.answer(undefined, true);
    expect(await answers()).toEqual([]);
    clock.time += 5_001;
    await control.answer(undefined, true);
    expect(await answers()).toEqual([['br_1', null]]);
  });
});
