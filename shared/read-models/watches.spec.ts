import { describe, expect, it } from '@jest/globals';
import type { PauseReason, WatchedProxy } from '../../schemas/events/watch-events.ts';
import { storedEvent } from '../testing/event-builder.ts';
import { project } from '../testing/project.ts';
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
};
const registered = storedEvent('ContractRegistered', registration, {
  position: 5,
  time: Date.parse('2026-01-02T01:00:00.000Z'),
});
const registeredBy = (appId: string, position: number) =>
  storedEvent(
    'ContractRegistered',
    { ...registration, appId },
    { position, time: Date.parse('2026-01-02T02:00:00.000Z') },
  );
const extendedTo = (startBlock: number, position: number) =>
  storedEvent('WatchExtended', { watchId: 'wch_1', chainId: 10, contractAddress, startBlock }, { position });

const about = { watchId: 'wch_1', chainId: 10, contractAddress };
const paused = (reason: PauseReason, position: number) =>
  storedEvent('WatchPaused', { ...about, reason }, { position });
const resumed = (isUnbounded: boolean, position: number) =>
  storedEvent('WatchResumed', { ...about, isUnbounded }, { position });
const removed = (appId: string, position: number) => storedEvent('WatchRemoved', { ...about, appId }, { position });

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
  apps: ['app_1'],
  isRemoved: false,
  paused: null,
  isUnbounded: false,
  appPositions: { app_1: 5 },
  createdAt: '2026-01-02T01:00:00.000Z',
  createdPosition: 5,
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

  it('has the data of its registration, and the app that registered it', async () => {
    expect(await project(watchesModel, [registered])).toEqual({ watch: { wch_1: watch } });
  });

  it('has every app that registered it, in order, and the data of the first registration', async () => {
    expect(await project(watchesModel, [registered, registeredBy('app_3', 6), registeredBy('app_2', 7)])).toEqual({
      watch: {
        wch_1: { ...watch, apps: ['app_1', 'app_3', 'app_2'], appPositions: { app_1: 5, app_3: 6, app_2: 7 } },
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
      watch: { wch_1: { ...watch, apps: ['app_1', 'app_2'], appPositions: { app_1: 5, app_2: 6 } } },
    });
  });

  it('starts at the block to which it was extended, also after another app registered it', async () => {
    expect(await project(watchesModel, [registered, extendedTo(50, 6), registeredBy('app_2', 7)])).toEqual({
      watch: {
        wch_1: { ...watch, startBlock: 50, apps: ['app_1', 'app_2'], appPositions: { app_1: 5, app_2: 7 } },
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
          apps: ['app_2'],
          appPositions: { app_2: 6 },
          createdAt: '2026-01-02T03:00:00.000Z',
          createdPosition: 6,
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
      watch: { wch_1: { ...watch, apps: ['app_2'], appPositions: { app_2: 6 } } },
    });
    const none = [...both, removed('app_1', 7), removed('app_2', 8)];
    expect(await project(watchesModel, none)).toEqual({
      watch: { wch_1: { ...watch, apps: [], isRemoved: true, appPositions: {} } },
    });
    expect(await project(watchesModel, [...none, registeredBy('app_2', 9)])).toEqual({
      watch: { wch_1: { ...watch, apps: ['app_2'], appPositions: { app_2: 9 }, readSince: 9 } },
    });
  });
});
