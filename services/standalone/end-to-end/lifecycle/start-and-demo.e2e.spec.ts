import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import { callUntilServed, signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { startOpenIdProvider } from '../../../account/testing/openid-provider/running-openid-provider.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';

const dataFolder = join(temporaryFolder(), 'data');
const run = promisify(execFile);
/** Less than the policy of a first start allows, and enough for a demo. */
const OTHER_DAY_WEI = '50000000000000000000';

/** Runs a built program while `npm start` runs on the same data folder. */
const runBeside = (program: string, ...args: string[]) =>
  run(process.execPath, [join('dist/services/standalone', program), ...args], {
    env: { ...outerEnvironment, DATA_DIR: dataFolder },
  });

/** Runs the demo; if it fails, the error has its output. */
const demonstrate = async (): Promise<string> => {
  try {
    return (await runBeside('demo/main.js')).stdout;
  } catch (error) {
    throw new Error(`the demo failed:\n${(error as { stdout: string }).stdout}`, { cause: error });
  }
};

const annalsApp = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await runBeside('annals.js', 'app', ...args, '--json')).stdout);

describe('npm start', () => {
  let program: RunningProgram;
  let provider: Awaited<ReturnType<typeof startOpenIdProvider>>;
  beforeAll(async () => {
    provider = await startOpenIdProvider({ redirectUri: 'http://localhost:5173/callback' });
    program = await RunningProgram.start(dataFolder, { OAUTH_A: JSON.stringify(provider.settings) });
  });
  afterAll(() => Promise.all([program.stop(), provider.stop()]));

  it('keeps the addresses and secrets of development to its own user', () => {
    expect(statSync(join(dataFolder, 'dev.json')).mode & 0o777).toBe(0o600);
  });

  it('lets the development app pay on the local chain', async () => {
    const { app, chainId } = program.development;
    const policy = {
      ...{ chainId, dayWei: '100000000000000000000', userDayWei: '10000000000000000000' },
      ...{ operationWei: '100000000000000000', allow: [], anySession: false },
    };
    expect(await annalsApp('policy', 'show', app.id)).toEqual({ appId: app.id, policies: [policy] });
    expect(await annalsApp('sponsorship', app.id)).toMatchObject({
      chains: [{ chainId, dayWei: policy.dayWei, reserved: '0', settled: '0', operations: 0 }],
    });
  });

  it('runs the demo', async () => {
    const demonstrated = await demonstrate();
    expect(demonstrated).toMatch(/ok {4}see it in a block .*the paymaster paid [1-9]\d* wei/);
    expect(demonstrated).toMatch(/ok {4}see it arrive live/);
    expect(demonstrated).toMatch(/ok {4}sign in at an OpenID provider .*usr_/);
    expect(demonstrated).toMatch(/^export USER_ID=0x[0-9a-f]{40} TOKEN=\S+$/m);
  });

  it('lets an app log in at once that was registered while it runs', async () => {
    const created = await annalsApp('create', '--name', 'Shop', '--origin', 'https://shop.example');
    const app = created as DevelopmentFile['app'];
    const development = { ...program.development, app: { ...app, origin: 'https://shop.example' } };
    const { userId, bearer } = await signIn(development);
    expect(await callUntilServed(`${development.accountUrl}/user/${userId}`, { headers: bearer })).toMatchObject({
      status: 200,
    });
    const listed = (await annalsApp('list')) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual([program.development.app.id, app.id]);
    const { body } = await callUntilServed(`${development.accountUrl}/universal-account`);
    expect(body).toMatchObject({ chains: [{ chainId: 2484 }], dependencies: { messageBus: 'up' } });
  });

  it('refuses a second start on its data folder with a message of one line', async () => {
    await expect(runBeside('main.js')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^annals cannot start: .*in use by another start.*\n$/),
    });
  });

  it('keeps chain, accounts, app and policy after Ctrl-C and after a kill', async () => {
    const { app, token, chainId } = program.development;
    await annalsApp('policy', 'set', app.id, '--chain', String(chainId), '--day', OTHER_DAY_WEI, '--no-limit');
    expect(await program.stop()).toBe(0);
    expect(program.output.match(/^stopped$/gm)).toHaveLength(1);

    program = await RunningProgram.start(dataFolder, {});
    expect(program.development).toMatchObject({ app, token });
    // The spec does not compare the wei that the demo has spent: the status counts the wei of one day, and a day may have ended.
    expect(await annalsApp('sponsorship', app.id)).toMatchObject({ chains: [{ chainId, dayWei: OTHER_DAY_WEI }] });
    await program.kill();

    program = await RunningProgram.start(dataFolder, {});
    const demonstrated = await demonstrate();
    expect(demonstrated).toMatch(/ok {4}query it/);
    expect(demonstrated).toMatch(/skip {2}sign in at an OpenID provider/);
  });
});
