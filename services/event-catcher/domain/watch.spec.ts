import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import type { Watch } from '../../../shared/read-models/watches.ts';
import { registerContract, watchFold, watchIdOf, watchStream, type Registration } from './watch.ts';

const first: Registration = { ...eventExamples.ContractRegistered, startBlock: 100, appId: 'app_1' };
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
    expect(given(registered)).toMatchObject({ id: watchId, startBlock: 100, apps: ['app_1'] });
  });

  it('does nothing for the same app with the same or a later start block', () => {
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
    expect(given(registered, byOtherApp)?.apps).toEqual(['app_1', 'app_2']);
  });

  it.each([
    ['other names', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, name: `_${input.name}` })) }],
    ['another name', { ...fragment, name: 'Moved' }],
    ['another value of anonymous', { ...fragment, anonymous: true }],
    ['other types', { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, type: 'bytes32' })) }],
    ['fewer parameters', { ...fragment, inputs: fragment.inputs.slice(0, -1) }],
    ['more parameters', { ...fragment, inputs: [...fragment.inputs, { name: '', type: 'bool' }] }],
    [
      'other parameters indexed',
      { ...fragment, inputs: fragment.inputs.map((input) => ({ ...input, indexed: true })) },
    ],
  ])('is refused with %s', (_, other) => {
    for (const appId of ['app_1', 'app_2']) {
      expect(() => registerContract(given(registered), { ...first, fragment: other, appId })).toThrow(
        'contract_conflict: the event is registered as Transfer(address indexed from, address indexed to, uint256 value)',
      );
    }
  });

  it('does nothing if two fragments differ only in whether indexed: false is written out', () => {
    const inputs = fragment.inputs.map(({ indexed, ...input }) => (indexed ? { ...input, indexed } : input));
    const silent = { ...first, fragment: { ...fragment, inputs } };
    expect(registerContract(given(registered), silent)).toEqual([]);
    expect(registerContract(given({ type: 'ContractRegistered', data: silent }), first)).toEqual([]);
  });

  it('compares the components of a tuple, too', () => {
    const tupleOf = (name: string) => ({
      ...first,
      fragment: { ...fragment, inputs: [{ name: 'a', type: 'tuple', components: [{ name, type: 'bool' }] }] },
    });
    const watch = given({ type: 'ContractRegistered', data: tupleOf('x') });
    expect(registerContract(watch, tupleOf('x'))).toEqual([]);
    expect(() => registerContract(watch, tupleOf('y'))).toThrow('contract_conflict');
  });

  it('does nothing a second time', () => {
    const registrations = fc.array(
      fc.record({ appId: fc.constantFrom('app_1', 'app_2', 'app_3'), startBlock: fc.nat(9) }),
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
        expect(watch?.apps).toEqual([...new Set(asked.map(({ appId }) => appId))]);
      }),
    );
  });
});

describe('the id of a watch', () => {
  const idOf = (changes: Partial<Parameters<typeof watchIdOf>[0]>) =>
    watchIdOf({ chainId, contractAddress, fragment, ...changes });
  const id = 'wch_yfvetx9kddwj201711s2p64yxq';

  it('never changes, and names its stream', () => {
    expect(idOf({})).toBe(id);
    expect(watchStream(id)).toBe(`watch-${id}`);
  });

  it('depends on chain, contract, types and anonymous, not on letter case, names or what is indexed', () => {
    expect(idOf({ contractAddress: contractAddress.toLowerCase() })).toBe(id);
    const inputs = fragment.inputs.map((input) => ({ ...input, name: '', indexed: false }));
    expect(idOf({ fragment: { ...fragment, inputs } })).toBe(id);
    expect(idOf({ chainId: chainId + 1 })).not.toBe(id);
    expect(idOf({ fragment: { ...fragment, anonymous: true } })).not.toBe(id);
    expect(idOf({ fragment: { ...fragment, inputs: inputs.slice(1) } })).not.toBe(id);
  });
});
