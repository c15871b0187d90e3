import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { PauseReason, WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import { claimantText } from '../../../../shared/chain/identifiers/claimant.ts';
import type { Watch } from '../../../../shared/read-models/event-catcher/watches.ts';
import { removeClaim } from './stopped-watch.ts';
import { registerContract, watchFold, watchIdOf, watchStream, type Registration, type Watched } from './watch.ts';

const first: Registration = { ...eventExamples.ContractRegistered, startBlock: 100, appId: 'app_1', userId: null };
const { watchId, chainId, contractAddress, fragment } = first;

const given = (...events: WatchEvent[]): Watch | undefined =>
  events.reduce<Watch | undefined>((watch, event) => watchFold.evolve(watch, event, 0), undefined);
const registered: WatchEvent = { type: 'ContractRegistered', data: first };
const about = { watchId, chainId, contractAddress };
const extendedTo = (startBlock: number): WatchEvent => ({ type: 'WatchExtended', data: { ...about, startBlock } });
const shortenedTo = (startBlock: number): WatchEvent => ({ type: 'WatchShortened', data: { ...about, startBlock } });

describe('registering a contract event', () => {
  it('creates a watch for the first registration', () => {
    expect(registerContract(given(), first)).toEqual([registered]);
    expect(given(registered)).toMatchObject({ id: watchId, startBlock: 100, claims: ['app_1'] });
  });

  it('does nothing for the same claimant with the same start block', () => {
    expect(registerContract(given(registered), first)).toEqual([]);
  });

  it('begins later for a later start block, once nobody else wants an earlier one', () => {
    const later = { ...first, startBlock: 150 };
    expect(registerContract(given(registered), later)).toEqual([shortenedTo(150)]);
    expect(given(registered, shortenedTo(150))).toMatchObject({ startBlock: 150 });
    const byOther = { ...first, appId: 'app_2', startBlock: 200 };
    const claimed: WatchEvent = { type: 'ContractRegistered', data: { ...byOther, startBlock: 100, askedBlock: 200 } };
    expect(registerContract(given(registered), byOther)).toEqual([claimed]);
    const both = given(registered, claimed);
    const again: WatchEvent = { type: 'ContractRegistered', data: { ...later, startBlock: 100, askedBlock: 150 } };
    expect(registerContract(both, later)).toEqual([again, shortenedTo(150)]);
    expect(removeClaim(both, first)).toEqual([
      { type: 'WatchRemoved', data: { ...about, appId: 'app_1', userId: null } },
      shortenedTo(200),
    ]);
    expect(removeClaim(both, byOther)).toHaveLength(1);
  });

  it('begins where the first registration after the last claim was dropped wants it to', () => {
    const removed: WatchEvent = { type: 'WatchRemoved', data: { ...about, appId: 'app_1', userId: null } };
    for (const [startBlock, moved] of [
      [160, shortenedTo],
      [60, extendedTo],
    ] as const) {
      const asked = { ...first, appId: 'app_2', startBlock };
      expect(registerContract(given(registered, removed), asked)).toEqual([
        { type: 'ContractRegistered', data: { ...asked, startBlock: 100, askedBlock: startBlock } },
        moved(startBlock),
      ]);
    }
  });

  it('is not moved where it is not known who wanted it to begin earlier', () => {
    const byOther: WatchEvent = { type: 'ContractRegistered', data: { ...first, appId: 'app_2' } };
    expect(removeClaim(given(registered, byOther, extendedTo(3)), first)).toHaveLength(1);
  });

  it('extends the watch backwards for an earlier start block', () => {
    expect(registerContract(given(registered), { ...first, startBlock: 99 })).toEqual([extendedTo(99)]);
    expect(given(registered, extendedTo(99))).toMatchObject({ startBlock: 99, fragment });
  });

  it('adds another app to the watch, which begins where the first of them wants it to', () => {
    const byOtherApp: WatchEvent = { type: 'ContractRegistered', data: { ...first, appId: 'app_2' } };
    const asking = (askedBlock: number): WatchEvent => ({
      type: 'ContractRegistered',
      data: { ...first, appId: 'app_2', askedBlock },
    });
    const later = { ...first, appId: 'app_2', startBlock: 200 };
    expect(registerContract(given(registered), later)).toEqual([asking(200)]);
    const earlier = { ...first, appId: 'app_2', startBlock: 50 };
    expect(registerContract(given(registered), earlier)).toEqual([asking(50), extendedTo(50)]);
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
        const starts = new Map<string, number>();
        for (const one of asked) {
          starts.set(claimantText(one), one.startBlock);
          const registration = { ...first, ...one };
          watch = registerContract(watch, registration).reduce(
            (state, event) => watchFold.evolve(state, event, 0),
            watch,
          );
          expect(registerContract(watch, registration)).toEqual([]);
        }
        expect(watch?.startBlock).toBe(Math.min(...starts.values()));
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
    expect(idOf({ fragment: tupleOf('x') })).not.toBe(idOf({ fragment: tupleOf('y') }));
  });

  it('is another one on another chain or contract', () => {
    expect(idOf({ chainId: chainId + 1 })).not.toBe(id);
    expect(idOf({ contractAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' })).not.toBe(id);
  });
});
