import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { PauseReason, WatchEvent } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { Claimant } from '../../../../shared/chain/identifiers/claimant.ts';
import { pauseText, type Watch } from '../../../../shared/read-models/event-catcher/watches.ts';
import { pauseWatch, removeClaim, resumeWatch, stopBackfill, type Holder } from './stopped-watch.ts';
import { watchFold } from './watch.ts';

const { watchId, chainId, contractAddress } = eventExamples.ContractRegistered;
const about = { watchId, chainId, contractAddress };

const app1 = { appId: 'app_1', userId: null };
const app2 = { appId: 'app_2', userId: null };
const user1 = { appId: 'app_1', userId: 'usr_1' };
const user2 = { appId: 'app_1', userId: 'usr_2' };

const registered = (by: Claimant): WatchEvent => ({
  type: 'ContractRegistered',
  data: { ...eventExamples.ContractRegistered, ...by },
});
const removed = (by: Claimant): WatchEvent => ({ type: 'WatchRemoved', data: { ...about, ...by } });
const paused = (reason: PauseReason): WatchEvent => ({ type: 'WatchPaused', data: { ...about, reason } });
const resumed = (isUnbounded: boolean): WatchEvent => ({ type: 'WatchResumed', data: { ...about, isUnbounded } });
const given = (...events: WatchEvent[]): Watch | undefined =>
  events.reduce<Watch | undefined>((watch, event) => watchFold.evolve(watch, event, 0), undefined);

const as = (claimant: Claimant): Holder => ({ kind: 'claimant', claimant });
const one = as(app1);
const operator: Holder = { kind: 'operator' };
const held = [registered(app1)];
const shared = [...held, registered(app2)];
const gone = [...held, removed(app1)];

describe('dropping a claim', () => {
  it('is stored for whoever has one, the last one and any other', () => {
    expect(removeClaim(given(...shared), app2)).toEqual([removed(app2)]);
    expect(removeClaim(given(...held), app1)).toEqual([removed(app1)]);
    expect(removeClaim(given(...held, registered(user1)), user1)).toEqual([removed(user1)]);
  });

  it.each([
    ['a watch that never was', [], app1],
    ['one that nobody claims any more', gone, app1],
    ['one that others claim', held, app2],
    ['one that only the user’s app claims', held, user1],
    ['one that another user of the app claims', [registered(user1)], user2],
    ['one that only a user of the app claims', [registered(user1)], app1],
    ['one whose claim was dropped before', [...shared, removed(app1)], app1],
  ])('is refused for %s', (_, events, by) => {
    expect(() => removeClaim(given(...events), by)).toThrow('watch_not_found');
  });
});

describe('pausing a watch', () => {
  it('is for its only holder and for the operator, and done once', () => {
    expect(pauseWatch(given(...held), one)).toEqual([paused('app')]);
    expect(pauseWatch(given(...shared, removed(app2)), one)).toEqual([paused('app')]);
    expect(pauseWatch(given(...shared), operator)).toEqual([paused('operator')]);
    expect(pauseWatch(given(registered(user1)), as(user1))).toEqual([paused('app')]);
    expect(pauseWatch(given(...held, paused('app')), one)).toEqual([]);
    expect(pauseWatch(given(...held, paused('operator')), operator)).toEqual([]);
  });

  it('is for an app itself where every claim is of that app or of its users', () => {
    expect(pauseWatch(given(registered(user1), registered(user2)), one)).toEqual([paused('app')]);
    expect(pauseWatch(given(...held, registered(user1)), one)).toEqual([paused('app')]);
    expect(() => pauseWatch(given(registered(user1), registered({ ...user2, appId: 'app_2' })), one)).toThrow(
      'forbidden',
    );
    expect(() => pauseWatch(given(registered({ appId: 'app_11', userId: 'usr_1' })), one)).toThrow('forbidden');
  });

  it('by an app replaces no other pause; the operator’s replaces an app’s', () => {
    for (const reason of ['operator', 'records', 'blocks'] as const)
      expect(pauseWatch(given(...held, paused(reason)), one)).toEqual([]);
    expect(pauseWatch(given(...held, paused('app')), operator)).toEqual([paused('operator')]);
  });

  it.each([
    ['one of several holders', shared, one, 'forbidden'],
    ['an app that does not hold it', [registered(app2)], one, 'forbidden'],
    ['a user of the app that holds it', held, as(user1), 'forbidden'],
    ['another user of the app', [registered(user1)], as(user2), 'forbidden'],
    ['one of several users of an app', [registered(user1), registered(user2)], as(user1), 'forbidden'],
    ['a user beside the own app', [...held, registered(user1)], as(user1), 'forbidden'],
    ['the same user in another app', [registered(user1)], as({ ...user1, appId: 'app_2' }), 'forbidden'],
    ['its last holder of before', gone, one, 'watch_not_found'],
    ['the operator, when nobody claims it', gone, operator, 'watch_not_found'],
    ['anybody, when it never was', [], operator, 'watch_not_found'],
  ])('is refused to %s', (_, events, by, code) => {
    expect(() => pauseWatch(given(...events), by)).toThrow(code);
    expect(() => resumeWatch(given(...events), by)).toThrow(code);
  });
});

describe('resuming a watch', () => {
  it('ends the pause, and the bounds of its backfill where the operator does it', () => {
    expect(resumeWatch(given(...held, paused('app')), one)).toEqual([resumed(false)]);
    expect(resumeWatch(given(...shared, paused('blocks')), operator)).toEqual([resumed(true)]);
    expect(resumeWatch(given(...held), one)).toEqual([]);
    const running = [...held, paused('app'), resumed(false)];
    expect(resumeWatch(given(...running), operator)).toEqual([resumed(true)]);
    expect(resumeWatch(given(...running, resumed(true)), operator)).toEqual([]);
  });

  it.each<[PauseReason, object]>([
    ['operator', { code: 'forbidden' }],
    ['records', { code: 'quota_exceeded', members: { rule: 'backfillRecords' } }],
    ['blocks', { code: 'quota_exceeded', members: { rule: 'backfillBlocks' } }],
  ])('is refused to its holder when the reason was %s', (reason, refusal) => {
    expect(() => resumeWatch(given(...held, paused(reason)), one)).toThrow(expect.objectContaining(refusal));
  });
});

describe('a backfill that meets a bound', () => {
  it('pauses the watch, once', () => {
    expect(stopBackfill(given(...shared), 'records')).toEqual([paused('records')]);
    expect(stopBackfill(given(...held, paused('blocks')), 'records')).toEqual([]);
    expect(stopBackfill(given(...gone), 'records')).toEqual([]);
  });

  it('does not pause a watch that the operator resumed', () => {
    expect(stopBackfill(given(...held, paused('records'), resumed(true)), 'records')).toEqual([]);
  });

  it('is told from a pause that an app wanted', () => {
    expect(pauseText('records')).toMatch(/as many records as one registration may have/);
    expect(pauseText('blocks')).toMatch(/as many blocks as one registration may have/);
    expect(pauseText('operator')).toBe('the operator paused this registration');
    expect([pauseText('app'), pauseText(null)]).toEqual([null, null]);
  });
});
