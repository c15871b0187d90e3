import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { ForeignCommits } from './foreign-commits.ts';

const WITHIN_MS = 20_000;

describe('the commits of other connections', () => {
  let log: string;
  let looks: number;
  /** How many looks find a commit from now on. */
  let commits: number;
  let foreign: ForeignCommits | undefined;
  beforeEach(() => {
    log = join(temporaryFolder(), 'a.db-wal');
    writeFileSync(log, '');
    looks = commits = 0;
  });
  afterEach(() => foreign?.close());

  const start = (): ForeignCommits => {
    foreign = new ForeignCommits(log, () => {
      looks += 1;
      commits -= 1;
      return commits >= 0;
    });
    return foreign;
  };
  const isWatching = (found: ForeignCommits) =>
    eventually(() => found.isWatching, WITHIN_MS, 'the polls must end when nothing comes');

  it('are looked for until none came for a while, and again after a write to the log', async () => {
    const found = start();
    expect(found.isWatching).toBe(false);
    await isWatching(found);
    expect(looks).toBeGreaterThanOrEqual(50);
    for (let round = 0; round < 2; round += 1) {
      looks = 0;
      appendFileSync(log, 'pages');
      await eventually(() => !found.isWatching, WITHIN_MS, 'a write must be reported');
      await isWatching(found);
      expect(looks).toBeGreaterThanOrEqual(50);
    }
  });

  it('are looked for longer while they come', async () => {
    commits = 100;
    await isWatching(start());
    expect(looks).toBeGreaterThanOrEqual(150);
  });

  it('are noticed where no write is reported', async () => {
    const found = start();
    await isWatching(found);
    commits = 1;
    await eventually(() => !found.isWatching, WITHIN_MS, 'the commit must be noticed');
  });

  it('are looked for all the time where the system cannot watch', async () => {
    log = join(temporaryFolder(), 'absent');
    const found = start();
    await eventually(() => looks > 120, WITHIN_MS, 'the polls must go on');
    expect(found.isWatching).toBe(false);
  });

  it('are not looked for after the end', async () => {
    const found = start();
    found.close();
    looks = 0;
    const other = new ForeignCommits(join(temporaryFolder(), 'absent'), () => {
      commits += 1;
      return false;
    });
    await eventually(() => commits > 5, WITHIN_MS, 'time must pass');
    other.close();
    expect(looks).toBe(0);
  });
});
