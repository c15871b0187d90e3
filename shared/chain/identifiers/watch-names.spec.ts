import { describe, expect, it } from '@jest/globals';
import type { Claimant } from './claimant.ts';
import { matcherByName, findNamed, selectWatches } from './watch-names.ts';

const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';
const watch = (
  id: string,
  eventSignature: string,
  claimedSince: number,
  { claims = {}, topic0 = topicOf(eventSignature) }: { claims?: Record<string, number>; topic0?: string | null } = {},
) => ({
  id,
  eventName: eventSignature.slice(0, eventSignature.indexOf('(')),
  eventSignature,
  topic0,
  claimedSince,
  claimPositions: { founder: claimedSince, ...claims },
});
/** Stands for the first topic, which `indexed` does not change. */
const topicOf = (eventSignature: string) => eventSignature.replaceAll(' indexed', '');
const transfer = watch('wch_1', TRANSFER, 3);
const other = watch('wch_2', 'Transfer(address indexed,bytes)', 1);
const plain = watch('wch_3', 'Paused(address)', 2);

describe('a watch', () => {
  it.each([
    'Transfer',
    ' Transfer ',
    'Transfer(address,address,uint256)',
    'Transfer( address , address,uint256 )',
    'Transfer(address,address,uint)',
    'event Transfer(address from, address to, uint256 value);',
    TRANSFER,
    'event Transfer(address indexed from, address indexed to, uint value)',
  ])('is named by %s', (text) => {
    expect(matcherByName(text)(transfer)).toBe(true);
    expect(matcherByName(text)(other)).toBe(text.trim() === 'Transfer');
    expect(matcherByName(text)(plain)).toBe(false);
  });

  it.each([
    'transfer',
    'Trans',
    'Transfer(',
    'Transfer()',
    'Transfer(address)',
    'Transfer(address indexed,address,uint256)',
    'Transfer(address,address,uint128)',
    '__proto__',
    '',
  ])('is not named by %j', (text) => {
    expect([transfer, other, plain].filter(matcherByName(text))).toEqual([]);
  });

  it('without indexed parameters is named by its bare signature, not by one that has an indexed parameter', () => {
    expect(matcherByName('Paused(address)')(plain)).toBe(true);
    expect(matcherByName('Paused(address indexed)')(plain)).toBe(false);
  });

  it('is found by a name of a request, if any watch has it', () => {
    expect(findNamed([transfer, other, plain], 'eventName', { name: 'Paused' })).toBe(plain);
    expect(findNamed([transfer, other, plain], 'eventName', { name: 'Transfer(address,bytes)' })).toBe(other);
    expect(findNamed([transfer, other, plain], 'eventName', { name: 'Approval' })).toBeUndefined();
  });

  it('must be named by its signature if several watches share the name', () => {
    expect(() => findNamed([transfer, other, plain], 'eventName', { name: 'Transfer' })).toThrow(
      `validation_failed: eventName: is the name of several events: say Transfer(address indexed,bytes) or ${TRANSFER}`,
    );
  });
});

describe('several watches that match one event', () => {
  const wrong = watch('wch_4', 'Transfer(address,address indexed,uint256)', 4, { claims: { app_2: 7 } });
  const right = watch('wch_5', TRANSFER, 5, { claims: { app_2: 8, 'app_1/usr_1': 10, 'app_2/usr_1': 11 } });
  const watches = [right, wrong, plain];
  const app = (appId: string) => ({ appId, userId: null });
  const user = (appId: string, userId: string) => ({ appId, userId });
  const named = (name: string, caller?: Claimant) => selectWatches(watches, { name, caller }).map(({ id }) => id);

  it('are told apart by who asks: the one that the caller claims is meant', () => {
    expect(named('Transfer', user('app_1', 'usr_1'))).toEqual(['wch_5']);
    expect(named('Transfer', user('app_2', 'usr_1'))).toEqual(['wch_5']);
    expect(named('Transfer(address,address,uint256)', user('app_1', 'usr_1'))).toEqual(['wch_5']);
    expect(named('Transfer', app('app_2'))).toEqual(['wch_4']);
  });

  it('are else told apart by what the app of the caller itself claims, and by nothing that its other users claim', () => {
    expect(named('Transfer', user('app_2', 'usr_9'))).toEqual(['wch_4']);
    expect(named('Transfer', user('app_1', 'usr_9'))).toEqual(['wch_4']);
    const own = watch('wch_6', TRANSFER, 6, { claims: { app_1: 12 } });
    const found = (caller: Claimant) => selectWatches([own, ...watches], { name: 'Transfer', caller });
    expect(found(user('app_1', 'usr_9'))).toEqual([own]);
    expect(found(user('app_1', 'usr_1'))).toEqual([right]);
  });

  it('are the oldest for everybody else', () => {
    for (const caller of [undefined, app('app_3'), app('__proto__'), user('__proto__', 'x'), user('app_3', 'usr_1')])
      expect(named('Transfer', caller)).toEqual(['wch_4']);
  });

  it('are meant by the age of the claim, so that no later registration of anybody changes what is meant', () => {
    const newer = watch('wch_7', TRANSFER, 20, { claims: { 'app_1/usr_1': 21, app_2: 22 } });
    const older = watch('wch_8', TRANSFER, 1, { claims: { 'app_1/usr_1': 30, app_2: 31 } });
    for (const caller of [user('app_1', 'usr_1'), user('app_2', 'usr_9'), app('app_2')])
      expect(selectWatches([newer, older, ...watches], { name: 'Transfer', caller })).toEqual(
        selectWatches(watches, { name: 'Transfer', caller }),
      );
  });

  it('are told apart by what is indexed, if the name says so', () => {
    expect(named(TRANSFER, app('app_2'))).toEqual(['wch_5']);
    expect(named(TRANSFER)).toEqual(['wch_5']);
  });

  it('are told apart by an id, whoever asks', () => {
    expect(selectWatches(watches, { name: 'Transfer', watchId: 'wch_5' })).toEqual([right]);
    expect(selectWatches(watches, { watchId: 'wch_4', caller: user('app_1', 'usr_1') })).toEqual([wrong]);
    expect(selectWatches(watches, { name: 'Paused', watchId: 'wch_4' })).toEqual([]);
    expect(selectWatches(watches, { watchId: 'wch_9' })).toEqual([]);
  });

  it('are not all meant without a name: of those that have the same logs, that one which its event would mean', () => {
    const ids = (caller?: Claimant) => selectWatches(watches, { caller }).map(({ id }) => id);
    expect(ids(user('app_1', 'usr_1'))).toEqual(['wch_5', 'wch_3']);
    expect(ids(app('app_2'))).toEqual(['wch_4', 'wch_3']);
    expect(ids()).toEqual(['wch_3', 'wch_4']);
  });

  it('of anonymous events have the same logs if they have the same layout, whatever they are called', () => {
    const note = watch('wch_a', 'Note(address indexed,uint256)', 1, { topic0: null });
    const remark = watch('wch_b', 'Remark(address indexed,uint256)', 2, { topic0: null, claims: { app_1: 3 } });
    const named = watch('wch_c', 'Note(address indexed,uint256)', 3);
    const other = watch('wch_d', 'Note(address,uint256)', 4, { topic0: null });
    expect(selectWatches([note, remark, named, other], {})).toEqual([note, named, other]);
    expect(selectWatches([note, remark, named, other], { caller: app('app_1') })).toEqual([remark, named, other]);
  });

  it('do not include the event of the same name that somebody else registered beside the own one', () => {
    expect(selectWatches([right, other], { name: 'Transfer', caller: user('app_1', 'usr_1') })).toEqual([right]);
    expect(selectWatches([right, other], { name: 'Transfer' })).toEqual([other, right]);
  });
});
