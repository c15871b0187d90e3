import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { allTopics, topics } from '../../../../schemas/topics.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { SqliteMessageBus } from '../../../../shared/message-bus/embedded/message-bus.sqlite.ts';
import { collections } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { RELAY_CHECKPOINT } from '../../../relay/publish-events/checkpoint.ts';
import { relayLoop } from '../../../relay/publish-events/relay-loop.ts';
import { runAnnals } from '../../testing/run-annals.ts';
import { replayCommand } from './replay.command.ts';

const DATA_DIR = temporaryFolder();
const users = ['usr_1', 'usr_2', 'usr_3'];
const USERS = topics.users.name;
/** A little before now: the topic does not keep what is a month old. */
const beganAt = Date.now() - 60_000;

/** Stores two logins of each user, one by one, and publishes them as the relay does. */
const publishLogins = async (): Promise<void> => {
  const engines = {
    eventStore: new SqliteEventStore(join(DATA_DIR, 'events.db')),
    readStore: new SqliteReadStore(join(DATA_DIR, 'read.db')),
    messageBus: new SqliteMessageBus(join(DATA_DIR, 'bus.db')),
  };
  const { eventStore, readStore, messageBus } = engines;
  await readStore.define(collections);
  await messageBus.createTopics(allTopics);
  const relay = relayLoop({ ...engines, edgeKey: Buffer.alloc(32, 7), logger: pino({ level: 'silent' }) });
  relay.start();
  for (const [at, revision] of [-1, 0].entries()) {
    for (const user of users) {
      const time = beganAt + at * 1_000;
      const login = anEvent({ type: 'UserLoggedIn', data: eventExamples.UserLoggedIn, time });
      const { position } = await eventStore.append(`user-${user}`, revision, [login]);
      const isPublished = async () => (await readStore.position(RELAY_CHECKPOINT)) >= position;
      await eventually(isPublished, 10_000, 'the relay must publish each login');
    }
  }
  await relay.stop();
  await Promise.all([eventStore.close(), readStore.close(), messageBus.close()]);
};

/** Removes the newest batch of a user's messages from the bus. */
const loseNewestOf = (user: string): void => {
  const bus = new SqliteMessageBus(join(DATA_DIR, 'bus.db'));
  const partition = bus.partitionOf(topics.users, user);
  void bus.close();
  const database = new DatabaseSync(join(DATA_DIR, 'bus.db'));
  const newest = 'SELECT max(last) FROM batches WHERE topic = ? AND "partition" = ?';
  const { changes } = database.prepare(`DELETE FROM batches WHERE last = (${newest})`).run(USERS, partition);
  database.close();
  expect(changes).toBe(1);
};

const annals = (...args: string[]) => runAnnals(DATA_DIR, replayCommand(), ...args);
const replay = (...args: string[]) => annals('--topic', USERS, '--from', '1', '--to', '6', ...args);

describe('annals replay', () => {
  beforeAll(publishLogins);

  it('names what was removed from a topic, publishes it, and finds nothing a second time', async () => {
    loseNewestOf('usr_2');
    const lost = `${USERS}, positions 1 to 6: 6 events, 1 lost\n  1 UserLoggedIn of usr_2\n`;
    expect(await replay('--dry-run')).toEqual({
      code: undefined,
      stdout: `${lost}nothing was published: --dry-run\n`,
      stderr: '',
    });
    expect(await replay()).toEqual({
      code: undefined,
      stdout: `${lost}1 published again\n`,
      stderr: `stored in ${DATA_DIR}\n`,
    });
    expect((await replay()).stdout).toBe(`${USERS}, positions 1 to 6: 6 events, 0 lost\n0 published again\n`);
  });

  it('takes times, and answers machines', async () => {
    loseNewestOf('usr_3');
    const times = (from: number, to: number) => [
      ...['--from', new Date(from).toISOString()],
      ...['--to', new Date(to).toISOString()],
    ];
    const within = async (from: number, to: number) => {
      const { stdout } = await annals('--topic', USERS, ...times(from, to), '--dry-run', '--json');
      return JSON.parse(stdout) as object;
    };
    const byKey = [{ key: 'usr_3', type: 'UserLoggedIn', lost: 1 }];
    expect(await within(beganAt, beganAt)).toMatchObject({ from: 1, to: 3, events: 3, lost: 0 });
    expect(await within(beganAt + 1, Date.now())).toMatchObject({ from: 4, to: 6, lost: 1, byKey, published: 0 });
    const { stdout } = await annals('--topic', USERS, ...times(beganAt + 2_000, Date.now()));
    expect(stdout).toBe(`${USERS} has no event in this range\n`);
  });

  it.each([
    [['--topic', 'annals.user.v1'], /The topics are annals\.users\.v1, annals\.transactions\.v1, /],
    [['--topic', `${USERS}.parked`], /What it lost is replayed with annals\.users\.v1\./],
    [['--from', 'yesterday'], /It is neither a position nor an ISO 8601 time such as/],
    [['--to', '7'], /--to is a position after the newest event, whose position is 6; a time is written as ISO 8601/],
    [['--to', '2199-01-01'], /--to is in the future/],
    [['--from', '5', '--to', '4'], /--from is after --to/],
    [['--from', '6', '--to', new Date(beganAt).toISOString()], /--from is after --to/],
  ])('refuses %j with exit code 2, and says what is right', async (args, message) => {
    const { code, stdout, stderr } = await replay(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
