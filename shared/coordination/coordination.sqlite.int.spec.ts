import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nameHolder, THIS_PROCESS } from '../loops/lease-holder.ts';
import { SqliteDatabase } from '../primitives/sqlite/database.sqlite.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestClock } from '../testing/test-foundation.ts';
import { SqliteCoordination } from './coordination.sqlite.ts';

/** A process id that no process of this machine has. */
const NOBODY = 4_194_305;
const OTHER = 'another container/1/x';
const OBSERVES_MS = 600_000;
const LEASE = { holder: THIS_PROCESS, epoch: 1, renewals: 0 };

describe('processes that share a file', () => {
  let file: string;
  let databases: SqliteDatabase[];
  let first: SqliteCoordination;
  let clock: TestClock;
  beforeEach(async () => {
    file = join(temporaryFolder(), 'read.db');
    databases = [];
    clock = new TestClock();
    first = opened(THIS_PROCESS);
    await first.replaceLease('work', undefined, LEASE);
    await first.announce('nodes', { id: THIS_PROCESS, renewals: 1, document: { size: 1 } });
  });
  afterEach(() => {
    for (const database of databases) database.close();
  });

  const opened = (process: string): SqliteCoordination => {
    const database = new SqliteDatabase(file, { synchronous: 'NORMAL', cacheMiB: 1 });
    databases.push(database);
    return new SqliteCoordination(database, process, clock);
  };
  let renewals = 1;
  const renew = async () => {
    renewals += 1;
    expect(await first.renewLease('work', LEASE)).toBeDefined();
    await first.announce('nodes', { id: THIS_PROCESS, renewals, document: { size: 1 } });
  };
  const written = () => statSync(`${file}-wal`).size;
  /** Whether a renewal is written to the file now. */
  const isWritten = async (): Promise<boolean> => {
    const before = written();
    await renew();
    return written() > before;
  };

  it('write no renewal while one of them has the file alone, even if it reads its own', async () => {
    expect(await first.lease('work')).toEqual(LEASE);
    expect(await first.announcements('nodes')).toHaveLength(1);
    expect(await isWritten()).toBe(false);
    await first.announce('nodes', { id: THIS_PROCESS, renewals: 9, document: { size: 2 } });
    expect(await first.announcements('nodes')).toEqual([{ id: THIS_PROCESS, renewals: 9, document: { size: 2 } }]);
  });

  it('write what is renewed in the name of another process', async () => {
    const lease = { ...LEASE, holder: OTHER };
    await first.replaceLease('play', undefined, lease);
    expect(await first.renewLease('play', lease)).toEqual({ ...lease, renewals: 1 });
    for (const times of [1, 2]) {
      await first.announce('nodes', { id: OTHER, renewals: times, document: {} });
      expect(await first.announcements('nodes')).toContainEqual({ id: OTHER, renewals: times, document: {} });
    }
  });

  it('withdraw what they announced, whether or not the newest renewal was written', async () => {
    await renew();
    await first.withdraw('nodes', { id: THIS_PROCESS, renewals });
    expect(await first.announcements('nodes')).toEqual([]);
  });

  it.each(['lease', 'announcements'] as const)('see each other renew once one has asked for a %s', async (method) => {
    const second = opened(OTHER);
    expect(await isWritten()).toBe(false);
    await second[method]('anything');
    const seen = async () => [
      (await second.lease('work'))?.renewals,
      (await second.announcements('nodes'))[0]?.renewals,
    ];
    await renew();
    const before = await seen();
    await renew();
    expect(await seen()).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
  });

  it('write no renewals for a process that has ended', async () => {
    await opened(nameHolder(NOBODY)).lease('work');
    expect(await isWritten()).toBe(false);
  });

  it('write renewals until a process has read nothing for ten minutes', async () => {
    const second = opened(OTHER);
    for (let minutes = 0; minutes < 30; minutes += 1) {
      await second.lease('work');
      clock.time += 60_000;
      expect(await isWritten()).toBe(true);
    }
    clock.time += OBSERVES_MS;
    expect(await isWritten()).toBe(false);
    await second.lease('work');
    expect(await isWritten()).toBe(true);
  });

  it.each([2 * OBSERVES_MS, -86_400_000])('write renewals after the clock was set by %i ms', async (ms) => {
    const second = opened(OTHER);
    await second.lease('work');
    clock.jump(ms);
    await second.lease('work');
    expect(await isWritten()).toBe(true);
    clock.time += OBSERVES_MS;
    expect(await isWritten()).toBe(false);
  });
});
