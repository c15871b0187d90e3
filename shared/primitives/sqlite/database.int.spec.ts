import { randomUUID } from 'node:crypto';
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import type { Refusal } from '../../errors/refusal.ts';
import { SqliteDatabase } from './database.sqlite.ts';

const folder = temporaryFolder();
const open = (file: string) => new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 1 });

/** How soon a follower in another process must see an event. */
const SEEN_WITHIN_MS = 50;

describe('a database that two connections share', () => {
  // Uses the time of the timers, so that a busy machine cannot fail the test, nor a longer interval pass it.
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('wakes who waits at one within 50 ms of a commit of the other', () => {
    const file = join(folder, `${randomUUID()}.db`);
    const [writer, reader] = [open(file), open(file)];
    writer.exec('CREATE TABLE things (id INTEGER PRIMARY KEY) STRICT');
    const stop = new AbortController();
    for (let commit = 0; commit < 3; commit += 1) {
      jest.advanceTimersByTime(SEEN_WITHIN_MS);
      const seen = reader.changed.rung;
      void reader.changed.wait(seen, stop.signal);
      void writer.transaction(() => {
        writer.exec('INSERT INTO things DEFAULT VALUES');
      });
      expect(reader.changed.rung).toBe(seen);
      jest.advanceTimersByTime(SEEN_WITHIN_MS);
      expect(reader.changed.rung).toBe(seen + 1);
    }
    stop.abort();
    writer.close();
    reader.close();
  });
});

describe('a database that somebody else has locked', () => {
  let database: SqliteDatabase;
  let other: DatabaseSync;
  beforeEach(() => {
    const file = join(folder, `${randomUUID()}.db`);
    database = open(file);
    database.exec('CREATE TABLE things (id INTEGER PRIMARY KEY) STRICT');
    other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
  });
  afterEach(() => {
    database.close();
    other.close();
  });
  const add = () => database.transaction(() => database.prepare('INSERT INTO things DEFAULT VALUES').run().changes);
  const count = () => database.prepare('SELECT count(*) AS count FROM things').get()?.['count'];

  it('holds up neither the process nor who reads, and is written to once it is free', async () => {
    const sent = jest.spyOn(DatabaseSync.prototype, 'exec');
    const [first, second] = [add(), add()];
    expect(count()).toBe(0);
    const statements = sent.mock.calls.map(([sql]) => sql);
    sent.mockRestore();
    // SQLite would block the thread for as long as it may wait for the lock.
    const [wait, begin] = ['PRAGMA busy_timeout = 0', 'BEGIN IMMEDIATE'];
    expect(statements.filter((sql) => [wait, begin].includes(sql))).toEqual([wait, begin, wait, begin]);
    other.exec('COMMIT');
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    expect(count()).toBe(2);
  });

  it('refuses after a while what waits to write, and has written nothing', async () => {
    const waiting = database.transaction(() => database.exec('INSERT INTO things DEFAULT VALUES'), { withinMs: 50 });
    await expect(waiting).rejects.toMatchObject({ code: 'dependency_unavailable' } satisfies Partial<Refusal>);
    other.exec('COMMIT');
    expect(count()).toBe(0);
  });

  it('lets nobody wait who writes when it is closed', async () => {
    const waiting = add();
    database.close();
    await expect(waiting).rejects.toMatchObject({ code: 'shutting_down' });
  });
});

describe('the log of a database', () => {
  it('is in the file a minute after the last commit, for programs that copy the file', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
    const file = join(folder, `${randomUUID()}.db`);
    const database = open(file);
    /** What a copy of the file alone has. */
    const copied = () => {
      const copy = join(folder, `${randomUUID()}.db`);
      copyFileSync(file, copy);
      const opened = new DatabaseSync(copy);
      const tables = opened.prepare('SELECT name FROM sqlite_schema').all();
      opened.close();
      return tables.map(({ name }) => name);
    };
    for (const name of ['one', 'two']) {
      await database.transaction(() => {
        database.exec(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY) STRICT`);
      });
      jest.advanceTimersByTime(59_000);
    }
    expect(copied()).toEqual([]);
    jest.advanceTimersByTime(1_000);
    expect(copied()).toEqual(['one', 'two']);
    database.close();
    jest.useRealTimers();
  });

  it('is emptied as soon as nobody reads what it was before, and nothing deleted is left in the file', async () => {
    const file = join(folder, `${randomUUID()}.db`);
    const database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 1, erases: true });
    database.exec('CREATE TABLE things (name TEXT) STRICT');
    const add = database.prepare('INSERT INTO things VALUES (?)');
    await database.transaction(() => add.run('a person'));
    const reader = new DatabaseSync(file);
    reader.exec('BEGIN; SELECT * FROM things;');
    await database.transaction(() => database.exec('DELETE FROM things'));
    const hasName = () => [file, `${file}-wal`].some((one) => readFileSync(one, 'latin1').includes('a person'));
    let isEmptied = false;
    const emptied = database.emptyLog().then(() => {
      isEmptied = true;
    });
    await setImmediate();
    expect([isEmptied, hasName()]).toEqual([false, true]);
    reader.exec('COMMIT');
    await emptied;
    expect([statSync(`${file}-wal`).size, hasName()]).toEqual([0, false]);
    reader.close();
    database.close();
  });
});
