import { describe, expect, it } from '@jest/globals';
import type { PauseReason, WatchedProxy } from '../../../schemas/events/event-catcher/watch-events.ts';
import { someMetadata, storedEvent } from '../../testing/event-builder.ts';
import { project } from '../../testing/project.ts';
import { watchesModel } from './watches.ts';

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

const watch = {
  id: 'wch_1',
  chainId: 10,
  contractAddress: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  eventName: 'Note',
  eventSignature: 'Note(string indexed,uint256)',
  topic0: '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  fragment: {
    name: 'Note',
    anonymous: false,
    inputs: [
      { name: 'topic', type: 'string', indexed: true },
      { name: 'value', type: 'uint256' },
    ],
  },
  startBlock: 100,
  proxy: null,
  claims: ['app_1'],
  isRemoved: false,
  paused: null,
  isUnbounded: false,
  claimPositions: { app_1: 5 },
  createdAt: '2026-01-02T01:00:00.000Z',
  createdPosition: 5,
  claimedSince: 5,
  readSince: 5,
};

describe('a watch', () => {
  it('has the proxy of its newest registration that knows it', async () => {
    const knowing = (proxy: WatchedProxy | null, position: number) =>
      storedEvent('ContractRegistered', { ...registration, appId: `app_${String(position)}`, proxy }, { position });
    const proxy: WatchedProxy = { kind: 'eip1967', implementation: contractAddress };
    const proxyOf = async (...events: Parameters<typeof project>[1]) =>
      (await project(watchesModel, events)).watch?.['wch_1']?.['proxy'];
    expect(await proxyOf(knowing(proxy, 5), registeredBy('app_2', 6))).toEqual(proxy);
    expect(await proxyOf(registered, knowing(proxy, 6))).toEqual(proxy);
    expect(await proxyOf(knowing(proxy, 5), knowing(null, 6))).toBeNull();
  });

  it('has a claim of each user within an app, and of the app itself, and loses the one that was dropped', async () => {
    const events = [
      registeredBy('app_1', 5, null),
      registeredBy('app_1', 6, 'usr_1'),
      registeredBy('app_1', 7, 'usr_2'),
      registeredBy('app_2', 8, 'usr_1'),
      registeredBy('app_1', 9, 'usr_1'),
    ];
    const claimsAfter = async (...more: typeof events) =>
      (await project(watchesModel, [...events, ...more])).watch?.['wch_1']?.['claimPositions'];
    expect(await claimsAfter()).toEqual({ app_1: 5, 'app_1/usr_1': 6, 'app_1/usr_2': 7, 'app_2/usr_1': 8 });
    expect(await claimsAfter(removed('app_1', 10, 'usr_1'))).toEqual({ app_1: 5, 'app_1/usr_2': 7, 'app_2/usr_1': 8 });
    expect(await claimsAfter(removed('app_1', 10, null), registeredBy('app_1', 11, null))).toEqual({
      'app_1/usr_1': 6,
      'app_1/usr_2': 7,
      'app_2/usr_1': 8,
      app_1: 11,
    });
  });

  it('has a claim that was stored as a whole app’s as that of the user who registered, until the app drops it', async () => {
    const former = [
      registeredBy('app_1', 5, undefined, { type: 'user', id: 'usr_1' }),
      registeredBy('app_2', 6, undefined, { type: 'app', id: 'app_2' }),
      registeredBy('usr_3', 7, undefined, { type: 'user', id: 'usr_3' }),
    ];
    const claims = async (...more: typeof former) =>
      (await project(watchesModel, [...former, ...more])).watch?.['wch_1']?.['claims'];
    expect(await claims()).toEqual(['app_1/usr_1', 'app_2', 'usr_3/usr_3']);
    // In events of earlier versions, any user of the app could drop its claim.
    expect(await claims(removed('app_1', 8), removed('app_2', 9))).toEqual(['usr_3/usr_3']);
    expect(await claims(removed('app_1', 8, 'usr_1'), removed('usr_3', 9, 'usr_3'))).toEqual(['app_2']);
  });

  it('has the data of its registration, and the app that registered it', async () => {
    expect(await project(watchesModel, [registered])).toEqual({ watch: { wch_1: watch } });
  });

  it('has every app that registered it, in order, and the data of the first registration', async () => {
    expect(await project(watchesModel, [registered, registeredBy('app_3', 6), registeredBy('app_2', 7)])).toEqual({
      watch: {
        wch_1: { ...watch, claims: ['app_1', 'app_3', 'app_2'], claimPositions: { app_1: 5, app_3: 6, app_2: 7 } },
      },
    });
  });

  it('has an app once, however often that registered it', async () => {
    const events = [
      registered,
      registeredBy('app_2', 6),
      registeredBy('app_1', 7),
      registeredBy('app_2', 8),
      registered,
    ];
    expect(await project(watchesModel, events)).toEqual({
      watch: { wch_1: { ...watch, claims: ['app_1', 'app_2'], claimPositions: { app_1: 5, app_2: 6 } } },
    });
  });

  it('starts at the block to which it was extended, also after another app registered it', async () => {
    expect(await project(watchesModel, [registered, extendedTo(50, 6), registeredBy('app_2', 7)])).toEqual({
      watch: {
        wch_1: { ...watch, startBlock: 50, claims: ['app_1', 'app_2'], claimPositions: { app_1: 5, app_2: 7 } },
      },
    });
    expect(await project(watchesModel, [registered, extendedTo(50, 6), extendedTo(0, 7)])).toEqual({
      watch: { wch_1: { ...watch, startBlock: 0 } },
    });
  });

  it('does not exist when it was extended and never registered', async () => {
    expect(await project(watchesModel, [extendedTo(50, 1)])).toEqual({ watch: {} });
    expect(await project(watchesModel, [extendedTo(50, 1), registered])).toEqual({ watch: { wch_1: watch } });
  });

  it('of an anonymous event has no topic, and is a watch of its own', async () => {
    const anonymous = storedEvent(
      'ContractRegistered',
      { ...registration, watchId: 'wch_2', topic0: null, appId: 'app_2' },
      { position: 6, time: Date.parse('2026-01-02T03:00:00.000Z') },
    );
    expect(await project(watchesModel, [registered, anonymous])).toEqual({
      watch: {
        wch_1: watch,
        wch_2: {
          ...watch,
          id: 'wch_2',
          topic0: null,
          claims: ['app_2'],
          claimPositions: { app_2: 6 },
          createdAt: '2026-01-02T03:00:00.000Z',
          createdPosition: 6,
          claimedSince: 6,
          readSince: 6,
        },
      },
    });
  });

  it('is paused until it is resumed, and is read from there on', async () => {
    const stopped = [registered, paused('app', 6)];
    expect(await project(watchesModel, stopped)).toEqual({ watch: { wch_1: { ...watch, paused: 'app' } } });
    expect(await project(watchesModel, [...stopped, paused('operator', 7)])).toEqual({
      watch: { wch_1: { ...watch, paused: 'operator' } },
    });
    expect(await project(watchesModel, [...stopped, resumed(false, 8)])).toEqual({
      watch: { wch_1: { ...watch, readSince: 8 } },
    });
  });

  it('keeps that the operator resumed it', async () => {
    const events = [registered, paused('blocks', 6), resumed(true, 7), paused('app', 8), resumed(false, 9)];
    expect(await project(watchesModel, events)).toEqual({
      watch: { wch_1: { ...watch, isUnbounded: true, readSince: 9 } },
    });
  });

  it('is removed when no app claims it any more, until one does again', async () => {
    const both = [registered, registeredBy('app_2', 6)];
    expect(await project(watchesModel, [...both, removed('app_1', 7)])).toEqual({
      watch: { wch_1: { ...watch, claims: ['app_2'], claimPositions: { app_2: 6 } } },
    });
    const none = [...both, removed('app_1', 7), removed('app_2', 8)];
    expect(await project(watchesModel, none)).toEqual({
      watch: { wch_1: { ...watch, claims: [], isRemoved: true, claimPositions: {} } },
    });
    expect(await project(watchesModel, [...none, registeredBy('app_2', 9)])).toEqual({
      watch: { wch_1: { ...watch, claims: ['app_2'], claimPositions: { app_2: 9 }, claimedSince: 9, readSince: 9 } },
    });
  });
});
