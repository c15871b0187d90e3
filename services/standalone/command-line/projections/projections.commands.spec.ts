import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { usersModel } from '../../../../shared/read-models/account/users.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { collections, readModels } from '../../../../shared/read-models/catalogue.ts';
import { SqliteReadStore } from '../../../../shared/read-store/embedded/read-store.sqlite.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { projectInto } from '../../../../shared/testing/project.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { keysCommand } from '../keys.commands.ts';
import { projectionsCommand } from './projections.commands.ts';

const DATA_DIR = temporaryFolder();
const users = usersModel.collections.user.name;

const withReadStore = async (work: (store: SqliteReadStore) => Promise<unknown>): Promise<void> => {
  const store = new SqliteReadStore(join(DATA_DIR, 'read.db'));
  await store.define(collections);
  await work(store);
  await store.close();
};

/** Makes a command and its subcommands throw where a process would end. */
const throwing = (command: Command): Command => {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  command.commands.forEach(throwing);
  return command;
};

const run = async (command: Command, args: readonly string[]): Promise<{ text: string; code: unknown }> => {
  process.exitCode = undefined;
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await throwing(command).parseAsync(args, { from: 'user' });
    return { text: write.mock.calls.map(([text]) => String(text)).join(''), code: process.exitCode };
  } finally {
    write.mockRestore();
    environment.restore();
  }
};
const annals = (...args: string[]) => run(projectionsCommand(), args);
const json = async (...args: string[]): Promise<{ result: unknown; code: unknown }> => {
  const { text, code } = await annals(...args, '--json');
  return { result: JSON.parse(text), code };
};

describe('annals projections', () => {
  let head: number;
  beforeAll(async () => {
    await folderWithStores(DATA_DIR);
    // Makes the vault.
    await run(keysCommand(), ['rotate']);
    const eventStore = new SqliteEventStore(join(DATA_DIR, 'events.db'));
    for (const userId of ['usr_1', 'usr_2']) {
      const data = { ...(eventExamples.UserRegistered as JsonObject), userId };
      await eventStore.append(`user-${userId}`, -1, [anEvent({ type: 'UserRegistered', data })]);
    }
    const observed = anEvent({ type: 'ChainEventObserved', data: eventExamples.ChainEventObserved });
    await eventStore.append('chain-2484-0x5fbdb2315678afecb367f032d93f642f64180aa3', -1, [observed]);
    const { events } = await eventStore.readAll(0, undefined, 10);
    head = await eventStore.head();
    await withReadStore((store) => projectInto(store, readModels, events));
    await eventStore.close();
  });
  afterEach(() => {
    process.exitCode = undefined;
  });

  it('lists every version with its position, lag and size, and what earlier releases left', async () => {
    await withReadStore(async (store) => {
      await store.define([{ name: 'history-heads-v2', indexes: [] }]);
      const change = { collection: 'history-heads-v2', id: 'usr_1', position: 1, document: {} };
      await store.apply('history-v2', [change], 1);
    });
    const { result } = await json('list');
    const listed = result as { name: string; bytes: number }[];
    expect(listed.map(({ name }) => name)).toEqual([
      ...['users', 'sessions', 'apps', 'history', 'watches'],
      ...['chain-events', 'chains', 'transactions', 'reservations', 'user-references', 'watch-states'],
      ...['trails', 'user-snapshots', 'history'],
    ]);
    expect(listed[0]).toMatchObject({
      name: 'users',
      version: 'v5',
      current: true,
      position: head,
      lag: 0,
      documents: 2,
    });
    expect(listed.at(-1)).toMatchObject({ version: 'v2', current: false, position: 1, lag: head - 1, documents: 1 });
    expect(listed.every(({ bytes }) => bytes > 0)).toBe(true);
    expect((await annals('list')).text).toMatch(/^NAME +VERSION +STATE .*\nusers +v5 +read +\d+ +0 +2 +\d+\n/);
  });

  it('says that no process works on a read model, and ends with 1', async () => {
    const { result, code } = await json('status', 'users');
    const status = { position: head, lag: 0, followed: false, caughtUp: true, secondsLeft: 0 };
    const never = { verifiedAt: null, differences: null };
    expect([result, code]).toEqual([[{ name: 'users', version: 'v5', ...status, ...never }], 1]);
    expect((await annals('status', 'users')).text).toMatch(
      /  caught up  not compared yet  no process works on it: start a projector\n$/,
    );
  });

  it('ends with 1 while a document differs, names it, and repairs it when it shall', async () => {
    expect(await json('verify')).toMatchObject({ code: undefined });
    await withReadStore(async (store) => {
      const [one] = await store.find(users, { filter: { id: 'usr_1' } });
      const correct = one && { ...one, document: { ...one.document, revision: 7 } };
      await store.correct(users, [{ id: 'usr_1', expected: one?.position, correct }]);
    });
    const difference = { collection: users, id: 'usr_1', kind: 'changed' };
    const verified = { name: 'users-v5', position: head, compared: 2 };
    expect(await json('verify', 'users')).toEqual({
      result: [{ ...verified, differences: [difference], repaired: [] }],
      code: 1,
    });
    const told = { verifiedAt: expect.any(String), differences: 1 };
    expect(await json('status', 'users')).toMatchObject({ result: [told] });
    expect((await annals('status', 'users')).text).toMatch(/  compared 20[\d:.TZ-]+: 1 differ  no process/);
    const { text, code } = await annals('verify', 'users');
    expect([text, code]).toEqual([expect.stringMatching(/1 differ from a fresh fold; .*\n {2}changed: usr_1 in /), 1]);
    expect(await json('verify', 'users', '--repair')).toEqual({
      result: [{ ...verified, differences: [], repaired: [difference] }],
      code: undefined,
    });
    expect((await annals('status', 'users')).text).toContain(': no difference  ');
    expect((await annals('verify')).text.match(/all equal to a fresh fold\n/g)).toHaveLength(readModels.length);
  });

  it('names a record that the search index does not find, until it is repaired', async () => {
    const records = chainEventsModel.collections.record.name;
    const empty = () => {
      const database = new DatabaseSync(join(DATA_DIR, 'read.db'));
      const { changes } = database.prepare(`DELETE FROM "${records} postings"`).run();
      database.close();
      return changes;
    };
    expect(empty()).toBeGreaterThan(0);
    const { text, code } = await annals('verify', 'chain-events');
    expect([text, code]).toEqual([
      expect.stringMatching(/1 differ from a .*\n {2}misindexed: \S+ in chain-events-v5\n/),
      1,
    ]);
    expect(await json('verify', 'chain-events', '--repair')).toMatchObject({
      result: [{ compared: 2, differences: [], repaired: [{ collection: records, kind: 'misindexed' }] }],
      code: undefined,
    });
    expect((await annals('verify', 'chain-events')).text).toContain('all equal to a fresh fold');
  });

  it('refuses to switch or to drop where there is no other version, and drops what an earlier release left', async () => {
    await expect(annals('switch', 'users')).rejects.toThrow(
      'users has no other complete version: run "annals projections rebuild users" first',
    );
    await expect(annals('switch', 'users', '--to', 'v9')).rejects.toThrow('users has no version v9 that this release');
    await expect(annals('drop', 'users', '--version', 'v5')).rejects.toThrow('switch to another one first');
    expect(await json('drop', 'history', '--version', 'v2')).toMatchObject({
      result: { name: 'history', version: 'v2' },
    });
    expect((await annals('list')).text).not.toContain('former');
  });

  it.each(['0', '-1', '1.5', 'fast'])('refuses a rate of %s', async (rate) => {
    await expect(annals('rebuild', 'users', '--rate', rate)).rejects.toThrow('whole number of events, from 1 on');
  });

  it('refuses a read model that does not exist, and names those that do', async () => {
    await expect(annals('verify', 'nobody')).rejects.toThrow(/Allowed choices are users, sessions, /);
  });
});
