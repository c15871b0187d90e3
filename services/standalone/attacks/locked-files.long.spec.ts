import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { describeAttack } from './program-under-attack.ts';

const folder = temporaryFolder();

describeAttack('files of a running program that somebody locks', () => {
  it('hold up who writes to them, and neither the process nor who reads', async () => {
    await using stack = new AsyncDisposableStack();
    const dataFolder = join(folder, 'locked');
    const program = await RunningProgram.start(dataFolder, {});
    stack.defer(async () => {
      await program.stop();
    });
    const { accountUrl } = program.development;
    const { userId, bearer } = await signIn(program.development);
    const changeProfile = (username: string) =>
      call(`${accountUrl}/user/${userId}/profile`, { method: 'POST', headers: bearer, body: { username } });

    const readUser = () => call(`${accountUrl}/user/${userId}`, { headers: bearer });
    await eventually(async () => (await readUser()).status === 200, 10_000, 'the user must be projected');

    const locks = ['events.db', 'read.db', 'bus.db'].map((name) => new DatabaseSync(join(dataFolder, name)));
    for (const lock of locks) {
      lock.exec('BEGIN IMMEDIATE');
      stack.defer(() => {
        lock.close();
      });
    }
    const wrong: string[] = [];
    /** Writes, and reads until the write is answered. Returns how often it could read before. */
    const readsDuringWrite = async (): Promise<number> => {
      let [reads, isAnswered] = [0, false];
      const written = changeProfile('ada').finally(() => {
        isAnswered = true;
      });
      for (;;) {
        const [live, user] = await Promise.all([call(`${accountUrl}/health/live`), readUser()]);
        const statuses = [live.status, user.status];
        if (statuses.some((status) => status !== 200 && status !== 503)) wrong.push(`read: ${statuses.join()}`);
        if (isAnswered) break;
        if (statuses.every((status) => status === 200)) reads += 1;
      }
      const { status } = await written;
      if (status !== 503) wrong.push(`write: ${String(status)}`);
      return reads;
    };
    // On a busy machine the first write may be answered before a read, and a read that is late with 503.
    await eventually(async () => (await readsDuringWrite()) > 0, 60_000, 'reads must be answered before a write is');
    expect(wrong).toEqual([]);

    for (const lock of locks) lock.exec('COMMIT');
    const worksAgain = async () => {
      const { status } = await changeProfile('grace');
      return status === 200 && (await call(`${accountUrl}/health/ready`)).status === 200;
    };
    await eventually(worksAgain, 20_000, 'the program must work again');
  });
});
