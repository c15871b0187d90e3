import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { PauseReason, WatchEvent } from '../../../schemas/events/watch-events.ts';
import { claimantText } from '../../../shared/chain/claimant.ts';
import type { Watch } from '../../../shared/read-models/watches.ts';
import {
  formerWatchIdOf,
  isSameFragment,
  registerContract,
  watchFold,
  watchIdOf,
  watchStream,
  type Registration,
  type Watched,
} from './watch.ts';

const first: Registration = { ...eventExamples.ContractRegistered, startBlock: 100, appId: 'app_1', userId: null };
const { watchId, chainId, contractAddress, fragment } = first;

const given = (...events: WatchEvent[]): Watch | undefined =>
  events.reduce<Watch | undefined>((watch, event) => watchFold.evolve(watch, event, 0), undefined);
const registered: WatchEvent = { type: 'ContractRegistered', data: first };
const extendedTo = (startBlock: number): WatchEvent => ({
  type: 'WatchExtended',
  data: { watchId, chainId, contractAddress, startBlock },
});

describe('registering a contract event', () => {
  it('creates a watch for the first registration', () => {
    expect(registerContract(given(), first)).toEqual([registered]);
    expect(given(registered)).toMatchObject({ id: watchId, startBlock: 100, claims: ['app_1'] });
  });

  it('does nothing for the same claimant with the same or a later start block', () => {
    for (const startBlock of [100, 101]) {
      expect(registerContract(given(registered), { ...first, startBlock })).toEqual([]);
    }
  });

  it('extends the watch backwards for an earlier start block', () => {
    expect(registerContract(given(registered), { ...first, startBlock: 99 })).toEqual([extendedTo(99)]);
    expect(given(registered, extendedTo(99))).toMatchObject({ startBlock: 99, fragment });
  });

  it("adds another app to the watch and keeps the stored start block, whatever that app's start block is", () => {
    const byOtherApp: WatchEvent = { type: 'ContractRegistered', data: { ...first, appId: 'app_2' } };
    const later = { ...first, appId: 'app_2', startBlock: 200 };
    expect(registerContract(given(registered), later)).toEqual([byOtherApp]);
    const earlier = { ...first, appId: 'app_2', startBlock: 50 };
    expect(registerContract(given(registered), earlier)).toEqual([byOtherApp, extendedTo(50)]);
    expect(given(registered, byOtherApp)?.claims).toEqual(['app_1', 'app_2']);
  });

  it('adds a user of an app beside the app and its other users', () => {
    const of = (userId: string | null): WatchEvent => ({ type: 'ContractRegistered', data: { ...first, userId } });
    const events = [registered, of('usr_1'), of('usr_2')];
    expect(registerContract(given(registered), { ...first, userId: 'usr_1' })).toEqual([of('usr_1')]);
    expect(given(...events)?.claims).toEqual(['app_1', 'app_1/usr_1', 'app_1/usr_2']);
    expect(registerContract(given(...events), { ...first, userId: 'usr_2' })).toEqual([]);
  });

  it('resumes a watch that its only holder paused when another app registers it, and no other pause', () => {
    const byOtherApp: WatchEvent = { type: 'ContractRegistered', data: { ...first, appId: 'app_2' } };
    const about = { watchId, chainId, contractAddress };
    const paused = (reason: PauseReason): WatchEvent => ({ type: 'WatchPaused', data: { ...about, reason } });
    const resumed: WatchEvent = { type: 'WatchResumed', data: { ...about, isUnbounded: false } };
    const other = { ...first, appId: 'app_2' };
    expect(registerContract(given(registered, paused('app')), other)).toEqual([byOtherApp, resumed]);
    expect(registerContract(given(registered, paused('app')), first)).toEqual([]);
    for (const reason of ['operator', 'records', 'blocks'] as const) {
      expect(registerContract(given(registered, paused(reason)), other)).toEqual([byOtherApp]);
    }
  });

  it('does nothing a second time', () => {
    const registrations = fc.array(
      fc.record({
        appId: fc.constantFrom('app_1', 'app_2'),
        userId: fc.constantFrom(null, 'usr_1', 'usr_2'),
        startBlock: fc.nat(9),
      }),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(registrations, (asked) => {
        let watch = given();
        for (const one of asked) {
          const registration = { ...first, ...one };
          watch = registerContract(watch, registration).reduce(
            (state, event) => watchFold.evolve(state, event, 0),
            watch,
          );
          expect(registerContract(watch, registration)).toEqual([]);
        }
        expect(watch?.startBlock).toBe(Math.min(...asked.map(({ startBlock }) => startBlock)));
        expect(watch?.claims).toEqual([...new Set(asked.map(claimantText))]);
      }),
    );
  });
});

describe('the id of a watch', () => {
  const idOf = (changes: Partial<Watched>) => watchIdOf({ chainId, contractAddress, fragment, ...changes });
  const id = watchIdOf(first);

  it('never changes, and names its stream', () => {
    expect(id).toBe('wch_cdmwaj8gwk21dtj3bjvqfpqvyv');
    expect(watchStream(id)).toBe(`watch-${id}`);
  });

  it('does not depend on letter case, nor on whether indexed: false is written out', () => {
    expect(idOf({ contractAddress: contractAddress.toLowerCase() })).toBe(id);
    const inputs = fragment.inputs.map(({ indexed, ...input }) => (indexed ? { ...input, indexed } : input));
    expect(idOf({ fragment: { ...fragment, inputs } })).toBe(id);
    expect(isSameFragment({ ...fragment, inputs }, fragment)).toBe(true);
  });

  const tupleOf = (name: string) => ({
    ...fragment,
    inputs: [{ name: 'a', type: 'tuple', components: [{ name, type: 'bool' }] }],
  });
  it.each([
    ['names', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, name: `_${input.name}` })) }],
    ['no names', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, name: '' })) }],
    ['name', { ...fragment, name: 'Moved' }],
    ['value of anonymous', { ...fragment, anonymous: true }],
    ['types', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, type: 'bytes32' })) }],
    ['number of parameters', { ...fragment, inputs: fragment.inputs.slice(0, -1) }],
    ['indexed parameters', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, indexed: true })) }],
    ['tuple', tupleOf('x')],
    ['names in a tuple', tupleOf('y')],
  ])('is another one for a fragment with another %s', (_, other) => {
    expect(idOf({ fragment: other })).not.toBe(id);
    expect(isSameFragment(other, fragment)).toBe(false);
    expect(isSameFragment(tupleOf('x'), tupleOf('y'))).toBe(false);
  });

  it('is another one on another chain or contract', () => {
    expect(idOf({ chainId: chainId + 1 })).not.toBe(id);
    expect(idOf({ contractAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' })).not.toBe(id);
  });

  it('was once the same for all fragments of a signature', () => {
    const former = formerWatchIdOf(first);
    expect(former).toBe('wch_yfvetx9kddwj201711s2p64yxq');
    const inputs = fragment.inputs.map((input) => ({ ...input, name: '', indexed: false }));
    expect(formerWatchIdOf({ ...first, fragment: { ...fragment, inputs } })).toBe(former);
    expect(formerWatchIdOf({ ...first, fragment: { ...fragment, anonymous: true } })).not.toBe(former);
  });
});
