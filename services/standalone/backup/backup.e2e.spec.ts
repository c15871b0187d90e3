import { execFile } from 'node:child_process';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { callUntilServed, signIn, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { portsOf } from '../../../shared/testing/processes/whole-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';

const USERS = 4;
/** Profile changes that are acknowledged before the backup begins. */
const CHANGES = 40;

const run = promisify(execFile);

describe('a system that is restored from a backup', () => {
  const folder = temporaryFolder();
  const [dataDir, backups, restored] = ['data', 'backups', 'restored'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const annals = (DATA_DIR: string, ...args: string[]) =>
    run(process.execPath, ['dist/services/standalone/annals.js', 'backup', ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR },
    });

  it('has all that was acknowledged before the backup, which was made under load, and refuses to start without it', async () => {
    const program = await RunningProgram.start(dataDir, {});
    const { accountUrl } = program.development;
    const users: SignedIn[] = [];
    for (let user = 0; user < USERS; user += 1) users.push(await signIn(program.development));
    const acknowledged = users.map(() => 0);
    const enough = Promise.withResolvers<undefined>();
    let isWritten = false;
    const writing = users.map(async ({ userId, bearer }, user) => {
      for (let change = 1; !isWritten; change += 1) {
        const { status } = await callUntilServed(`${accountUrl}/user/${userId}/profile`, {
          method: 'POST',
          headers: bearer,
          body: { username: `name${String(change)}` },
        });
        expect(status).toBe(200);
        acknowledged[user] = change;
        if (acknowledged.reduce((sum, changes) => sum + changes) >= CHANGES) enough.resolve(undefined);
      }
    });
    await enough.promise;
    const before = [...acknowledged];
    const created = await annals(dataDir, 'create', backups);
    expect(created.stdout).toContain(`keep a copy of ${join(dataDir, 'master.key')} in another place`);
    isWritten = true;
    await Promise.all(writing);
    await program.kill();
    expect((await annals(dataDir, 'verify', backups)).stdout).toContain('is whole');

    const { stdout } = await annals(
      restored,
      'restore',
      backups,
      '--json',
      '--master-key-file',
      join(dataDir, 'master.key'),
    );
    expect(JSON.parse(stdout)).toMatchObject({ dataDir: restored, masterKey: join(restored, 'master.key') });
    const again = await RunningProgram.start(restored, portsOf(program.development));
    for (const [user, { userId, bearer }] of users.entries()) {
      const { status, body } = await callUntilServed(`${accountUrl}/user/${userId}`, { headers: bearer });
      expect(status).toBe(200);
      expect(Number((body['username'] as string).slice('name'.length))).toBeGreaterThanOrEqual(
        before[user] ?? Infinity,
      );
    }
    expect(await again.stop()).toBe(0);
    // An orderly stop leaves everything in the files themselves.
    expect(readdirSync(restored).filter((name) => name.endsWith('-wal'))).toEqual([]);

    const lost = join(folder, 'lost');
    cpSync(restored, lost, { recursive: true });
    for (const name of readdirSync(lost).filter((file) => /^(events|read|bus)[.]db/.test(file)))
      rmSync(join(lost, name));
    await expect(RunningProgram.start(lost, {})).rejects.toThrow('the event store knows no user');
  }, 240_000);
});
