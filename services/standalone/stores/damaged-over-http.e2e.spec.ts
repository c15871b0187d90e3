import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { usersModel } from '../../../shared/read-models/account/users.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, callUntilServed, signIn, type SignedIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';

interface Damage {
  file: string;
  dependency: string;
  /** Changes what is stored of the user `?`. */
  sql: string;
  /** What is answered of it. */
  path: string;
}

describe('what the disk changed in an embedded file', () => {
  const folder = temporaryFolder();

  it.each<Damage>([
    {
      file: 'read.db',
      dependency: 'readStore',
      sql: `UPDATE "${usersModel.name}" SET document = replace(document, 'Written', 'Changed') WHERE id = ?`,
      path: '',
    },
    {
      file: 'events.db',
      dependency: 'eventStore',
      sql: "UPDATE events SET data = data || ' ' WHERE revision = 0 AND stream = 'user-' || ?",
      path: '/history/export',
    },
  ])('is answered to nobody, and $file is named', async ({ file, dependency, sql, path }) => {
    const dataFolder = join(folder, file);
    const program = await RunningProgram.start(dataFolder, {});
    try {
      const { accountUrl } = program.development;
      const [damaged, other] = [await signIn(program.development), await signIn(program.development)];
      const statusOf = async ({ userId, bearer }: SignedIn) => {
        const response = await fetch(`${accountUrl}/user/${userId}${path}`, { headers: bearer });
        await response.text();
        return response.status;
      };
      const ask = ({ userId, bearer }: SignedIn, to: string, options = {}) =>
        callUntilServed(`${accountUrl}/user/${userId}${to}`, { headers: bearer, ...options });
      for (const user of [damaged, other]) {
        const { status } = await ask(user, '/profile', { method: 'POST', body: { username: 'Written' } });
        expect([status, (await ask(user, '')).body['username']]).toEqual([200, 'Written']);
      }
      // A loop that had not read the damaged event yet would stop there, and the answer would be that the loop lags.
      for (const user of [damaged, other])
        await eventually(async () => (await statusOf(user)) === 200, 10_000, 'everything must have been projected');
      const disk = new DatabaseSync(join(dataFolder, file), { timeout: 60_000 });
      expect(disk.prepare(sql).run(damaged.userId).changes).toBe(1);
      disk.close();

      // Asked until it is served, the answer would never come.
      const ofDamaged = await call(`${accountUrl}/user/${damaged.userId}${path}`, { headers: damaged.bearer });
      expect(ofDamaged).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } });
      await eventually(async () => (await statusOf(other)) === 200, 10_000, 'others must be answered');
      const line = new RegExp(`${file} is damaged .*: end every process, `);
      await eventually(() => line.test(program.output), 10_000, 'the file must be named');
      const { status, body } = await call(`${accountUrl}/health/ready`);
      expect([status, body['reasons']]).toEqual([503, expect.arrayContaining([`account: ${dependency} is down`])]);
    } finally {
      await program.stop();
    }
  });
});
