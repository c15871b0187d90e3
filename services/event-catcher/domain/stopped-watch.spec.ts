import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { PauseReason, WatchEvent } from '../../../schemas/events/watch-events.ts';
import type { Watch } from '../../../shared/read-models/watches.ts';
import { pauseText, pauseWatch, removeClaim, resumeWatch, stopBackfill, type Holder } from './stopped-watch.ts';
import { watchFold } from './watch.ts';

const { watchId, chainId, contractAddress } = eventExamples.ContractRegistered;
const about = { watchId, chainId, contractAddress };

const registered = (appId: string): WatchEvent => ({
  type: 'ContractRegistered',
  data: { ...eventExamples.ContractRegistered, appId },
});
const removed = (appId: string): WatchEvent => ({ type: 'WatchRemoved', data: { ...about, appId } });
const paused = (reason: PauseReason): WatchEvent => ({ type: 'WatchPaused', data: { ...about, reason } });
const resumed = (isUnbounded: boolean): WatchEvent => ({ type: 'WatchResumed', data: { ...about, isUnbounded } });
const given = (...events: WatchEvent[]): Watch | undefined =>
  events.reduce<Watch | undefined>((watch, event) => watchFold.evolve(watch, event, 0), undefined);

const one: Holder = { kind: 'app', appId: 'app_1' };
const operator: Holder = { kind: 'operator' };
const held = [registered('app_1')];
const shared = [...held, registered('app_2')];
const gone = [...held, removed('app_1')];

describe('dropping a claim', () => {
  it('is stored for an app that has one, the last one and any other', () => {
    expect(removeClaim(given(...shared), 'app_2')).toEqual([removed('app_2')]);
    expect(removeClaim(given(...held), 'app_1')).toEqual([removed('app_1')]);
  });

  it.each([
    ['a watch that never was', [], 'app_1'],
    ['one that no app claims any more', gone, 'app_1'],
    ['one that others claim', held, 'app_2'],
    ['one whose claim was dropped before', [...shared, removed('app_1')], 'app_1'],
  ])('is refused for %s', (_, events, appId) => {
    expect(() => removeClaim(given(...events), appId)).toThrow('watch_not_found');
  });
});

describe('pausing a watch', () => {
  it('is for its only holder and for the operator, and done once', () => {
    expect(pauseWatch(given(...held), one)).toEqual([paused('app')]);
    expect(pauseWatch(given(...shared, removed('app_2')), one)).toEqual([paused('app')]);
    expect(pauseWatch(given(...shared), operator)).toEqual([paused('operator')]);
    expect(pauseWatch(given(...held, paused('app')), one)).toEqual([]);
    expect(pauseWatch(given(...held, paused('operator')), operator)).toEqual([]);
  });

  it('by an app replaces no other pause; the operator’s replaces an app’s', () => {
    for (const reason of ['operator', 'records', 'blocks'] as const)
      expect(pauseWatch(given(...held, paused(reason)), one)).toEqual([]);
    expect(pauseWatch(given(...held, paused('app')), operator)).toEqual([paused('operator')]);
  });

  it.each([
    ['one of several holders', shared, one, 'forbidden'],
    ['an app that does not hold it', [registered('app_2')], one, 'forbidden'],
    ['its last holder of before', gone, one, 'watch_not_found'],
    ['the operator, when no app claims it', gone, operator, 'watch_not_found'],
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
