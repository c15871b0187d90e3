import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { appHeaders, call, signIn } from '../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProcess } from '../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { describeAttack } from './program-under-attack.ts';

const folder = temporaryFolder();

describeAttack('an event store that is frozen', () => {
  it('leaves no request without an answer', async () => {
    await using stack = new AsyncDisposableStack();
    const main = ['shared/testing/event-store-server/main.ts', '127.0.0.1:0'];
    const store = RunningProcess.spawn('event store', main, {});
    stack.defer(() => store.kill());
    const [, where = ''] = await store.ready(/listens on (127\.0\.0\.1:\d+)/);
    const EVENTSTORE_URL = `esdb://${where}?tls=false`;
    const program = await RunningProgram.start(join(folder, 'frozen'), { EVENTSTORE_URL });
    stack.defer(async () => {
      await program.stop();
    });
    const { development } = program;
    const { accountUrl, eventUrl, token, chainId } = development;
    const { userId, refreshToken, bearer } = await signIn(development);
    const profile = { method: 'POST', headers: bearer, body: { username: 'ada' } };
    const registration = { chainId, contractAddress: token?.address, eventSignature: 'Transfer', eventAbi: '[]' };

    const changeProfile = () => call(`${accountUrl}/user/${userId}/profile`, profile);
    const ask = () => ({
      profile: changeProfile(),
      'profile with a key': call(`${accountUrl}/user/${userId}/profile`, {
        ...profile,
        headers: { ...bearer, 'idempotency-key': randomUUID() },
      }),
      user: call(`${accountUrl}/user/${userId}`, { headers: bearer }),
      'nobody’s status': call(`${eventUrl}/api/v1/status/1/${String(token?.address)}/Nothing`),
      history: call(`${accountUrl}/user/${userId}/history`, { headers: bearer }),
      challenge: call(`${accountUrl}/auth/web3/challenge?signer=${userId}`, { headers: appHeaders(development) }),
      refresh: call(`${accountUrl}/auth/refresh`, { method: 'POST', body: { refreshToken } }),
      contracts: call(`${eventUrl}/api/v1/contracts`, { headers: bearer }),
      watch: call(`${eventUrl}/api/v1/contracts/none`, { headers: bearer }),
      registration: call(`${eventUrl}/api/v1/contracts`, {
        method: 'POST',
        headers: bearer,
        body: { ...registration, startBlock: 0 },
      }),
      service: call(`${accountUrl}/universal-account`),
      ready: call(`${accountUrl}/health/ready`),
    });

    store.child.kill('SIGSTOP');
    stack.defer(() => {
      store.child.kill('SIGCONT');
    });
    const failed: string[] = [];
    await Promise.all(
      Object.entries(ask()).map(async ([name, answer]) => {
        const { status } = await answer;
        if (status === 500) failed.push(name);
      }),
    );
    expect(failed).toEqual([]);
    store.child.kill('SIGCONT');
    const worksAgain = async () => (await changeProfile()).status === 200;
    await eventually(worksAgain, 60_000, 'commands must be carried out again');
  });
});
