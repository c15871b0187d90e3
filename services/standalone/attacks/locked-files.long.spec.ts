import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { describeAttack } from './program-under-attack.ts';
import { startStopwatch } from '../../../shared/testing/stopwatch.ts';

/** An answer starts within 5 s; the rest is tolerance for a busy machine. */
const ANSWERED_WITHIN_MS = 6_000;
/** For requests that need no write. */
const READ_WITHIN_MS = 1_000;
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
    const [passedInAllMs, began] = [startStopwatch(), performance.now()];
    let slowestMs = 0;
    const written = changeProfile('ada').then(({ status }) => ({ status, tookMs: passedInAllMs() }));
    while (performance.now() - began < ANSWERED_WITHIN_MS) {
      const passedMs = startStopwatch();
      const [live, user] = await Promise.all([call(`${accountUrl}/health/live`), readUser()]);
      slowestMs = Math.max(slowestMs, passedMs());
      expect([live.status, user.status]).toEqual([200, 200]);
    }
    expect(slowestMs).toBeLessThan(READ_WITHIN_MS);
    const { status, tookMs } = await written;
    expect(status).toBe(503);
    expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);

    for (const lock of locks) lock.exec('COMMIT');
    const worksAgain = async () => {
      const { status } = await changeProfile('grace');
      return status === 200 && (await call(`${accountUrl}/health/ready`)).status === 200;
    };
    await eventually(worksAgain, 20_000, 'the program must work again');
  });
});
