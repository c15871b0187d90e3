import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { DevelopmentFile } from '../../../../schemas/development-file.ts';
import { callUntilServed, signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { startOpenIdProvider } from '../../../account/testing/openid-provider/running-openid-provider.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';

const folder = temporaryFolder();
const run = promisify(execFile);

/** Runs a built program while another one runs on the same data folder. */
const runBeside = (program: string, dataFolder: string, ...args: string[]) =>
  run(process.execPath, [join('dist/services/standalone', program), ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataFolder },
  });

/** Runs the demo; if it fails, the error has its output. */
const demonstrate = async (dataFolder: string): Promise<string> => {
  try {
    return (await runBeside('demo/main.js', dataFolder)).stdout;
  } catch (error) {
    throw new Error(`the demo failed:\n${(error as { stdout: string }).stdout}`, { cause: error });
  }
};

describe('npm start', () => {
  let program: RunningProgram | undefined;
  afterEach(async () => {
    await program?.stop();
  });

  it('runs the demo, and keeps chain, accounts and app after Ctrl-C and after a kill', async () => {
    const dataFolder = join(folder, 'demo');
    const provider = await startOpenIdProvider({ redirectUri: 'http://localhost:5173/callback' });
    program = await RunningProgram.start(dataFolder, { OAUTH_A: JSON.stringify(provider.settings) });
    const { development } = program;
    expect(statSync(join(dataFolder, 'dev.json')).mode & 0o777).toBe(0o600);
    const demonstrated = await demonstrate(dataFolder);
    expect(demonstrated).toMatch(/ok {4}see it in a block .*the paymaster paid [1-9]\d* wei/);
    expect(demonstrated).toMatch(/ok {4}see it arrive live/);
    expect(demonstrated).toMatch(/ok {4}sign in at an OpenID provider .*usr_/);
    expect(demonstrated).toMatch(/^export USER_ID=0x[0-9a-f]{40} TOKEN=\S+$/m);
    await provider.stop();
    expect(await program.stop()).toBe(0);
    expect(program.output.match(/^stopped$/gm)).toHaveLength(1);

    program = await RunningProgram.start(dataFolder, {});
    expect(program.development.app).toEqual(development.app);
    expect(program.development.token).toEqual(development.token);
    await program.kill();

    program = await RunningProgram.start(dataFolder, {});
    const demonstratedAgain = await demonstrate(dataFolder);
    expect(demonstratedAgain).toMatch(/ok {4}query it/);
    expect(demonstratedAgain).toMatch(/skip {2}sign in at an OpenID provider/);
  });

  it('lets the development app pay on the local chain, by another policy once one was set beside it', async () => {
    const dataFolder = join(folder, 'policy');
    program = await RunningProgram.start(dataFolder, {});
    const { app, chainId } = program.development;
    const annalsApp = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await runBeside('annals.js', dataFolder, 'app', ...args, '--json')).stdout);
    const policy = {
      ...{ chainId, dayWei: '100000000000000000000', userDayWei: '10000000000000000000' },
      ...{ operationWei: '100000000000000000', allow: [], anySession: false },
    };
    expect(await annalsApp('policy', 'show', app.id)).toEqual({ appId: app.id, policies: [policy] });
    await annalsApp('policy', 'set', app.id, '--chain', String(chainId), '--day', '5', '--no-limit');
    await program.stop();
    program = await RunningProgram.start(dataFolder, {});
    expect(await annalsApp('sponsorship', app.id)).toMatchObject({
      chains: [{ chainId, dayWei: '5', reserved: '0', settled: '0', operations: 0 }],
    });
  });

  it('lets an app log in at once that was registered while it runs', async () => {
    const dataFolder = join(folder, 'app');
    program = await RunningProgram.start(dataFolder, {});
    const created = await runBeside(
      'annals.js',
      dataFolder,
      'app',
      'create',
      '--name',
      'Shop',
      '--origin',
      'https://shop.example',
      '--json',
    );
    const app = JSON.parse(created.stdout) as DevelopmentFile['app'] & { origins: string[] };
    const development = { ...program.development, app: { ...app, origin: 'https://shop.example' } };
    const { userId, bearer } = await signIn(development);
    expect(await callUntilServed(`${development.accountUrl}/user/${userId}`, { headers: bearer })).toMatchObject({
      status: 200,
    });
    const listed = JSON.parse((await runBeside('annals.js', dataFolder, 'app', 'list', '--json')).stdout) as {
      id: string;
    }[];
    expect(listed.map(({ id }) => id)).toEqual([program.development.app.id, app.id]);
    const { body } = await callUntilServed(`${development.accountUrl}/universal-account`);
    expect(body).toMatchObject({ chains: [{ chainId: 2484 }], dependencies: { messageBus: 'up' } });
  });

  it('refuses a second start on its data folder with a message of one line', async () => {
    const dataFolder = join(folder, 'twice');
    program = await RunningProgram.start(dataFolder, {});
    await expect(runBeside('main.js', dataFolder)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^annals cannot start: .*in use by another start.*\n$/),
    });
  });
});
