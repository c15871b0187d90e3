import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { SqliteDatabase } from './database.sqlite.ts';

const folder = temporaryFolder();
const open = (file: string) => new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 1 });

/** How soon a follower in another process must see an event. */
const SEEN_WITHIN_MS = 50;

describe('a database that two connections share', () => {
  // The time of the timers, so that a busy machine cannot fail the test nor a longer interval pass it.
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
      writer.transaction(() => {
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
