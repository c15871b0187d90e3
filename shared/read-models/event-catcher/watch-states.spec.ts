import { describe, expect, it } from '@jest/globals';
import type { PauseReason } from '../../../schemas/events/event-catcher/watch-events.ts';
import { someMetadata, storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { watchStatesModel } from './watch-states.ts';

const contractAddress = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const registration = {
  watchId: 'wch_1',
  chainId: 10,
  contractAddress,
  eventName: 'Note',
  eventSignature: 'Note(string indexed,uint256)',
  topic0: `0x${'a'.repeat(64)}`,
  fragment: {
    name: 'Note',
    anonymous: false,
    inputs: [
      { name: 'topic', type: 'string', indexed: true },
      { name: 'value', type: 'uint256' },
    ],
  },
  startBlock: 100,
  appId: 'app_1',
  userId: null,
};
const registered = storedEvent('ContractRegistered', registration, {
  position: 5,
  time: Date.parse('2026-01-02T01:00:00.000Z'),
});
const registeredBy = (appId: string, position: number, userId?: string | null, actor = someMetadata.actor) =>
  storedEvent(
    'ContractRegistered',
    { ...registration, appId, userId },
    { position, time: Date.parse('2026-01-02T02:00:00.000Z'), metadata: { ...someMetadata, actor } },
  );
const extendedTo = (startBlock: number, position: number) =>
  storedEvent('WatchExtended', { watchId: 'wch_1', chainId: 10, contractAddress, startBlock }, { position });

const about = { watchId: 'wch_1', chainId: 10, contractAddress };
const paused = (reason: PauseReason, position: number) =>
  storedEvent('WatchPaused', { ...about, reason }, { position });
const resumed = (isUnbounded: boolean, position: number) =>
  storedEvent('WatchResumed', { ...about, isUnbounded }, { position });
const removed = (appId: string, position: number, userId?: string | null) =>
  storedEvent('WatchRemoved', { ...about, appId, userId }, { position });

describe('what a watch was before', () => {
  const named = {
    ...{ watchId: 'wch_1', chainId: 10, contractAddress, eventName: 'Note' },
    ...{ eventSignature: 'Note(string indexed,uint256)', topic0: registration.topic0 },
  };
  const state = { ...named, startBlock: 100, proxy: null, paused: null, claimedSince: 5, since: 5 };
  const formerAfter = async (events: Parameters<typeof project>[1]) => {
    const { formerState, formerClaims } = await project(watchStatesModel, events);
    return { states: formerState, claims: formerClaims };
  };

  it('is what it is, until an event changes it', async () => {
    const { current } = await project(watchStatesModel, [registered, paused('app', 6), registeredBy('app_2', 7)]);
    expect(current?.['wch_1']).toMatchObject({
      ...{ id: 'wch_1', startBlock: 100, paused: 'app', claimedSince: 5, fragment: registration.fragment },
      ...{ claims: ['app_1', 'app_2'], stateSince: 6, newestPosition: 7 },
    });
  });

  it('is kept from the event that began it to the one that ended it', async () => {
    const events = [registered, registeredBy('app_2', 6), extendedTo(50, 7), paused('app', 8), resumed(false, 9)];
    expect(await formerAfter(events)).toEqual({
      states: {
        'wch_1:7': { ...state, until: 7 },
        'wch_1:8': { ...state, startBlock: 50, since: 7, until: 8 },
        'wch_1:9': { ...state, startBlock: 50, paused: 'app', since: 8, until: 9 },
      },
      claims: {},
    });
  });

  it('has no state of the time when nobody claimed it, and every claim that was dropped', async () => {
    const both = [registered, registeredBy('app_2', 6)];
    const none = [...both, removed('app_1', 7), removed('app_2', 8), registeredBy('app_2', 9)];
    expect(await formerAfter(none)).toEqual({
      states: { 'wch_1:8': { ...state, until: 8 } },
      claims: {
        'wch_1:7': { ...named, claimPositions: { app_1: 5 }, until: 7 },
        'wch_1:8': { ...named, claimPositions: { app_2: 6 }, until: 8 },
      },
    });
  });

  it('is the same when events are delivered again', async () => {
    const events = [
      ...[registered, registeredBy('app_2', 6), removed('app_1', 7), registeredBy('app_1', 8)],
      ...[removed('app_2', 9), paused('app', 10), extendedTo(50, 11)],
    ];
    expect(await project(watchStatesModel, [...events, ...events])).toEqual(await project(watchStatesModel, events));
  });
});
