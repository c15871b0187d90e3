import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { allTopics, topics } from '../../../../schemas/topics.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventToAppend } from '../../../../shared/event-store/event-store.ts';
import { SqliteMessageBus } from '../../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import { sessionsModel } from '../../../../shared/read-models/account/sessions.ts';
import { historyModel } from '../../../../shared/read-models/account/history.ts';
import { nameInVersion } from '../../../../shared/read-store/versions/stored-versions.ts';
import { trailsModel } from '../../../../shared/read-models/trails.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { projectInto } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { RELAY_CHECKPOINT } from '../../../relay/publish-events/checkpoint.ts';
import { relayLoop } from '../../../relay/publish-events/relay-loop.ts';
import { runAnnals } from '../../testing/run-annals.ts';
import type { Trail } from './request-trail.ts';
import { trailCommand } from './trail.command.ts';

const DATA_DIR = temporaryFolder();
const executor = eventExamples.BundleSigned.executor;
const { chainId, transactionId } = eventExamples.TxSubmitted;
const bundleHash = `0x${'b'.repeat(64)}`;
const beganAt = Date.now() - 60_000;
const at = (second: number) => new Date(beganAt + second * 1_000).toISOString();

const caused = (
  second: number,
  type: keyof typeof eventExamples,
  { data = {}, by = 'request-1', causationId }: { data?: JsonObject; by?: string; causationId?: string } = {},
): EventToAppend => ({
  ...anEvent({ type, data: { ...eventExamples[type], ...data }, time: beganAt + second * 1_000 }),
  metadata: {
    correlationId: by,
    actor: { type: 'system', id: 'test' },
    ...(causationId !== undefined && { causationId }),
  },
});

/** Stores a login, and a send that was bundled and included; publishes all but the last event. */
const storeRequests = async (): Promise<void> => {
  const eventStore = new SqliteEventStore(join(DATA_DIR, 'events.db'));
  const readStore = new SqliteReadStore(join(DATA_DIR, 'read.db'));
  const messageBus = new SqliteMessageBus(join(DATA_DIR, 'bus.db'));
  await readStore.define(collections);
  await messageBus.createTopics(allTopics);
  const received = caused(0, 'RequestReceived');
  await eventStore.append(`onchain-${String(chainId)}`, -1, [
    caused(0, 'ChainPrepared', { data: { executors: [executor] }, by: 'start' }),
  ]);
  await eventStore.append('request-1', -1, [received]);
  await eventStore.append('user-usr_1', -1, [
    caused(1, 'UserRegistered', { by: 'another' }),
    caused(1, 'UserLoggedIn', { causationId: received.id }),
  ]);
  await eventStore.append('session-ses_1', -1, [caused(2, 'SessionStarted', { causationId: received.id })]);
  const submitted = caused(3, 'TxSubmitted', { by: 'request-2' });
  await eventStore.append(`transaction-${transactionId}`, -1, [submitted]);
  const bundle = { chainId, executor, nonce: 5, transactionHash: bundleHash };
  await eventStore.append(`executor-${String(chainId)}-${executor.toLowerCase()}`, -1, [
    caused(4, 'BundleSigned', {
      data: { ...bundle, operations: ['tx_other'], transactionHash: `0x${'c'.repeat(64)}` },
    }),
    caused(4, 'BundleSigned', { data: { ...bundle, operations: [transactionId] }, by: 'bundler' }),
    caused(5, 'BundleMined', { data: { ...bundle, blockNumber: 7 }, by: 'bundler' }),
  ]);
  const relay = relayLoop({
    ...{ eventStore, readStore, messageBus },
    ...{ edgeKey: Buffer.alloc(32, 7), logger: pino({ level: 'silent' }) },
  });
  relay.start();
  const head = await eventStore.head();
  const isPublished = async () => (await readStore.position(RELAY_CHECKPOINT)) >= head;
  await eventually(isPublished, 10_000, 'the relay must publish what is stored');
  await relay.stop();
  const included = { chainId, transactionId, transactionHash: bundleHash, blockNumber: 7 };
  await eventStore.append(`transaction-${transactionId}`, 0, [
    caused(6, 'TxIncluded', { data: included, by: 'bundler' }),
  ]);
  await readStore.apply(sessionsModel.name, [], head);
  // The operator has made the histories anew: queries read the second version, and the first is removed.
  const rebuilt = { current: 2, next: 3, versions: [{ number: 2, state: 'ready' as const, rate: null }] };
  await readStore.replaceVersions(historyModel.name, undefined, rebuilt);
  await readStore.apply(nameInVersion(historyModel.name, 2), [], head);
  await Promise.all([eventStore.close(), readStore.close(), messageBus.close()]);
};

const trail = (...args: string[]) => runAnnals(DATA_DIR, trailCommand(), ...args);

describe('annals audit trail', () => {
  beforeAll(storeRequests);

  it('shows what a request caused, where it was published, and which read models have it', async () => {
    const { code, stdout } = await trail('request-1');
    const partition = /annals\.users\.v1, partition (\d+), offset (\d+)/.exec(stdout);
    expect([code, stdout]).toEqual([
      undefined,
      [
        'request request-1',
        `├─ ${at(0)}  RequestReceived  request-1@0, position 2`,
        `│  ├─ ${at(1)}  UserLoggedIn  user-usr_1@1, position 4`,
        `│  │     in ${topics.users.name}, partition ${partition?.[1] ?? ''}, offset ${partition?.[2] ?? ''}`,
        '│  │     in the read models history-v4',
        '│  │     not yet in the read models users-v5, user-snapshots-v1',
        `│  └─ ${at(2)}  SessionStarted  session-ses_1@0, position 5`,
        '│        in the read models sessions-v5, history-v4',
        `└─ ${at(4)}  BundleSigned  executor-${String(chainId)}-${executor.toLowerCase()}@0, position 7`,
        `      chainId ${String(chainId)}, executor ${executor}, nonce 5, transactionHash 0x${'c'.repeat(64)}`,
        '',
      ].join('\n'),
    ]);
  });

  it('follows a transaction through its bundle into its block', async () => {
    const { stdout } = await trail('request-2', '--json');
    const { events } = JSON.parse(stdout) as Trail;
    const published = { topic: topics.transactions.name, state: 'published', offset: expect.any(String) };
    expect(events).toMatchObject([{ type: 'TxSubmitted', time: at(3), position: 6, message: published }]);
    expect(events[0]?.facts).toMatchObject({ transactionId, userOpHash: eventExamples.TxSubmitted.userOpHash });
    expect(events[0]?.events).toMatchObject([
      {
        type: 'BundleSigned',
        facts: { executor, nonce: 5, transactionHash: bundleHash },
        message: null,
        readModels: [],
      },
      { type: 'BundleMined', facts: { transactionHash: bundleHash, blockNumber: 7 } },
      { type: 'TxIncluded', facts: { blockNumber: 7 }, message: { state: 'waiting', partition: null, offset: null } },
    ]);
  });

  it('looks only at the positions that are given', async () => {
    const { stdout } = await trail('request-1', '--from', '4', '--to', '5', '--json');
    expect((JSON.parse(stdout) as Trail).events.map(({ type }) => type)).toEqual(['UserLoggedIn', 'SessionStarted']);
  });

  it.each([
    [['request-3'], 1, /^annals: no event has the request id request-3: the request changed nothing, /],
    [['request-1', '--from', '99'], 2, /--from is a position after the newest event, whose position is 10/],
    [['request-1', '--from', '3', '--to', '2'], 2, /--from is after --to/],
    [['request 1'], 2, /It is not a request id: 1 to 64 of/],
  ])('refuses %j with exit code %i', async (args, code, message) => {
    const refused = await trail(...args);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr).toMatch(message);
  });

  it('reads only what the index names, and what it does not have yet; of a range everything', async () => {
    const eventStore = new SqliteEventStore(join(DATA_DIR, 'events.db'));
    const readStore = new SqliteReadStore(join(DATA_DIR, 'read.db'));
    await readStore.define(collections);
    const { events } = await eventStore.readAll(0, undefined, 100);
    await projectInto(readStore, [trailsModel], events.slice(0, -1));
    await Promise.all([eventStore.close(), readStore.close()]);
    const typesOf = async (...args: string[]) => {
      const types = (of: Trail['events']): string[] => of.flatMap((event) => [event.type, ...types(event.events)]);
      return types((JSON.parse((await trail(...args, '--json')).stdout) as Trail).events);
    };
    expect(await typesOf('request-1')).toEqual(['UserLoggedIn', 'SessionStarted']);
    expect(await typesOf('request-2')).toEqual(['TxSubmitted', 'BundleSigned', 'BundleMined', 'TxIncluded']);
    expect(await typesOf('bundler')).toEqual(['TxIncluded']);
    expect(await typesOf('request-1', '--to', '10')).toEqual([
      ...['RequestReceived', 'UserLoggedIn', 'SessionStarted', 'BundleSigned'],
    ]);
  });
});
