import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { exportEnd } from '../../../schemas/http/account/history.ts';
import type { AnnalsClient } from '../../../shared/client/annals-client.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProgram } from '../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import type { LifeItem } from '../command-line/audit/account-life.ts';
import { consoleSteps, withoutVolatile } from '../testing/console-blocks.ts';
import { readMarkdown } from '../testing/markdown.ts';
import { developmentClient } from '../development-client.ethers.ts';

const root = join(import.meta.dirname, '../../..');
const WITHIN_MS = 60_000;
const steps = readMarkdown(root, 'docs/auditing.md').blocks.flatMap(({ place, language, text }) =>
  language === 'console' ? consoleSteps(text).map((step) => ({ place, ...step })) : [],
);

/** The request that erases an account ends its sessions, or the reaction to it does: whichever comes first. */
const comparable = (text: string): string =>
  withoutVolatile(text).replaceAll(/by system account,|app <id>, session <id>,/g, 'by <actor>,');

/**
 * The commands of docs/auditing.md, one after the other, beside a running `npm start`.
 * @param prepare returns the settings of its engines, none for embedded ones
 */
export const auditingContract = (prepare: () => Promise<Record<string, string>>): void => {
  const folder = temporaryFolder();
  const DATA_DIR = join(folder, 'data');
  const wallet = randomWallet();
  let program: RunningProgram;
  let client: AnnalsClient;
  let engines: Record<string, string>;
  let environment: Record<string, string>;
  beforeAll(async () => {
    engines = await prepare();
    program = await RunningProgram.start(DATA_DIR, { ...engines, SEAL_SECONDS: '2' });
    client = developmentClient(program.development);
    const { userId } = await client.login.wallet(wallet);
    const params = { id: userId };
    const body = { firstname: 'Ada', lastname: 'Lovelace' };
    await client.routes.updateProfile({ params, body });
    const changed = async () =>
      (await client.routes.readHistory({ params, query: { type: 'ProfileUpdated' } })).items[0];
    const { requestId } = await eventually(changed, WITHIN_MS, 'the history must have the change of the profile');
    environment = { USER_ID: userId, REQUEST_ID: requestId };
    const annals = `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/services/standalone/annals.js')}' "$@"\n`;
    writeFileSync(join(folder, 'annals'), annals, { mode: 0o755 });
    await untilSealed();
    const { items } = JSON.parse(await run('./annals audit show user $USER_ID --json')) as { items: LifeItem[] };
    environment['POSITION'] = String(items.find(({ type }) => type === 'SessionStarted')?.position);
  });
  afterAll(() => program.stop());

  /** Waits for a seal of all of the history. */
  const untilSealed = () =>
    eventually(
      async () => {
        const lines = (await run('./annals audit export $USER_ID')).trimEnd().split('\n');
        const { items, completeness } = exportEnd.parse(JSON.parse(lines.at(-1) ?? ''));
        return completeness?.items === items;
      },
      WITHIN_MS,
      'the history must be sealed',
    );

  /** Returns what a command prints, and its exit code if that is not 0. */
  const run = async (command: string): Promise<string> => {
    // An account is erased soon after a login.
    if (command.includes('DELETE')) await client.login.wallet(wallet);
    const TOKEN = command.includes('$TOKEN') ? await client.accessToken() : '';
    const env = { PATH: process.env['PATH'], DATA_DIR, TOKEN, ...engines, ...environment };
    const here = command.replaceAll('http://127.0.0.1:3000', program.development.accountUrl);
    return new Promise((resolve) => {
      execFile('sh', ['-c', here], { cwd: folder, env, maxBuffer: Infinity }, (error, stdout, stderr) => {
        const [witness] = /\S+\/annals-witness\+\S+/.exec(stdout) ?? [];
        if (witness !== undefined) environment['WITNESS'] = witness;
        resolve(stdout + stderr + (error ? `(exit code ${String(error.code)})` : ''));
      });
    });
  };

  it.each(steps)('$place: $command', async ({ command, output }) => {
    expect(comparable(await run(command))).toBe(comparable(output));
    if (command.includes('DELETE')) await untilSealed();
  });
};
