import { describe, expect, it } from '@jest/globals';
import { matcherByName, findNamed, selectWatches } from './watch-names.ts';

const TRANSFER = 'Transfer(address indexed,address indexed,uint256)';
const watch = (
  id: string,
  eventSignature: string,
  createdPosition: number,
  appPositions: Record<string, number> = {},
) => ({
  id,
  eventName: eventSignature.slice(0, eventSignature.indexOf('(')),
  eventSignature,
  createdPosition,
  appPositions: { founder: createdPosition, ...appPositions },
});
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
      `validation_failed: eventName: is the name of several events: say ${TRANSFER} or Transfer(address indexed,bytes)`,
    );
  });
});

describe('several watches that match one event', () => {
  const wrong = watch('wch_4', 'Transfer(address,address indexed,uint256)', 4, { app_2: 9 });
  const caller = { appId: 'app_1', userId: 'usr_9' };
  const right = watch('wch_5', TRANSFER, 5, { app_1: 8, app_2: 7 });
  const named = (name: string, appId?: string, userId = 'usr_9') =>
    selectWatches([right, wrong, plain], {
      name,
      ...(appId !== undefined && { caller: { appId, userId } }),
    }).map(({ id }) => id);

  it('are told apart by who asks: the newest that the app itself registered is meant', () => {
    expect(named('Transfer', 'app_1')).toEqual(['wch_5']);
    expect(named('Transfer', 'app_2')).toEqual(['wch_4']);
    expect(named('Transfer(address,address,uint256)', 'app_2')).toEqual(['wch_4']);
  });

  it('are told apart by what the user registered by a wallet where the app itself registered none', () => {
    const byWallet = watch('wch_6', TRANSFER, 6, { usr_1: 10 });
    const found = (appId: string, userId: string) =>
      selectWatches([right, wrong, byWallet], { name: 'Transfer', caller: { appId, userId } }).map(({ id }) => id);
    expect(found('app_7', 'usr_1')).toEqual(['wch_6']);
    expect(found('usr_1', 'usr_1')).toEqual(['wch_6']);
    expect(found('app_1', 'usr_1')).toEqual(['wch_5']);
    expect(found('app_7', 'usr_2')).toEqual(['wch_4']);
  });

  it('are the oldest for everybody else', () => {
    for (const appId of [undefined, 'app_3', '__proto__']) expect(named('Transfer', appId)).toEqual(['wch_4']);
  });

  it('are told apart by what is indexed, if the name says so', () => {
    expect(named(TRANSFER, 'app_2')).toEqual(['wch_5']);
    expect(named(TRANSFER)).toEqual(['wch_5']);
  });

  it('are told apart by an id, whoever asks', () => {
    const watches = [right, wrong, plain];
    expect(selectWatches(watches, { name: 'Transfer', watchId: 'wch_5' })).toEqual([right]);
    expect(selectWatches(watches, { watchId: 'wch_4', caller })).toEqual([wrong]);
    expect(selectWatches(watches, { name: 'Paused', watchId: 'wch_4' })).toEqual([]);
    expect(selectWatches(watches, { watchId: 'wch_9' })).toEqual([]);
  });

  it('are all meant without a name', () => {
    expect(selectWatches([right, wrong, plain], { caller })).toEqual([right, wrong, plain]);
  });

  it('do not include the event of the same name that another app registered beside the own one', () => {
    expect(selectWatches([right, other], { name: 'Transfer', caller })).toEqual([right]);
    expect(selectWatches([right, other], { name: 'Transfer' })).toEqual([right, other]);
  });
});
