import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../shared/testing/eventually.ts';
import { rawConnection } from '../../../shared/testing/raw-http.ts';
import { RunningProgram } from '../../../shared/testing/running-program.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';

const STOPS_WITHIN_MS = 5_000;
const program = ['--enable-source-maps', 'dist/services/standalone/main.js'];
const folder = temporaryFolder();
const anyPorts = {
  ACCOUNT_PORT: '0',
  EVENT_CATCHER_PORT: '0',
  STREAM_PORT: '0',
  METRICS_PORT: '0',
  LOCAL_CHAIN_PORT: '0',
};
const environment = (DATA_DIR: string, settings: Record<string, string> = {}) => ({
  ...{ PATH: process.env['PATH'], DATA_DIR },
  ...anyPorts,
  ...settings,
});

const chainOf = (dataFolder: string): number => Number(readFileSync(join(dataFolder, 'chain/anvil.pid'), 'utf8'));
const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A start that is refused; what it said on standard error. */
const refusal = async (dataFolder: string, settings: Record<string, string> = {}): Promise<string> => {
  const run = promisify(execFile)(process.execPath, program, { env: environment(dataFolder, settings) });
  const { code, stderr } = await run.then(
    () => ({ code: 0, stderr: 'it started' }),
    (error: unknown) => error as { code: number; stderr: string },
  );
  expect(code).toBe(1);
  return stderr;
};

describe('npm start that is stopped', () => {
  it.each(['start.lock', 'chain/anvil.pid', 'events.db', 'keys'])(
    'while it starts, when there is %s, leaves nothing running and is no failure',
    async (file) => {
      const dataFolder = join(folder, file.replace('/', '-'));
      const child = spawn(process.execPath, program, {
        env: environment(dataFolder),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const exited = once(child, 'exit');
      await eventually(() => existsSync(join(dataFolder, file)), 20_000, `there must be ${file}`);
      const chain = existsSync(join(dataFolder, 'chain/anvil.pid')) ? chainOf(dataFolder) : undefined;
      child.kill('SIGINT');
      expect(await exited).toEqual([0, null]);
      expect(said).toBe('');
      if (chain !== undefined) expect(runs(chain)).toBe(false);
      expect(existsSync(join(dataFolder, 'chain/anvil.pid'))).toBe(false);
    },
  );

  it('does so in time while callers hold requests open, and others have gone', async () => {
    const dataFolder = join(folder, 'held');
    const running = await RunningProgram.start(dataFolder, {});
    const { accountUrl, eventUrl, streamUrl } = running.development;
    const chain = chainOf(dataFolder);
    const half =
      'POST /auth/refresh HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{';
    const halfOfOther = half.replace('/auth/refresh', '/api/v1/contracts');
    for (const [url, request] of [
      [accountUrl, half],
      [eventUrl, halfOfOther],
      [streamUrl, half],
    ] as const) {
      const [gone, held] = [rawConnection(url), rawConnection(url)];
      for (const connection of [gone, held]) connection.write(request);
      held.answer.catch(() => undefined);
      await fetch(`${url}/health/live`);
      gone.reset();
    }
    const { code, tookMs } = await running.stop();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(STOPS_WITHIN_MS);
    expect(runs(chain)).toBe(false);
  });

  it('does so too when nobody reads what it says any more', async () => {
    const dataFolder = join(folder, 'unread');
    const running = await RunningProgram.start(dataFolder, {});
    const chain = chainOf(dataFolder);
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    expect((await running.stop()).code).toBe(0);
    expect(runs(chain)).toBe(false);
  });
});

describe('npm start on a data folder', () => {
  let running: RunningProgram | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  it('makes one for its owner alone, and empties it of its own things when told to begin anew', async () => {
    const dataFolder = join(folder, 'fresh');
    running = await RunningProgram.start(dataFolder, {});
    expect(statSync(dataFolder).mode & 0o777).toBe(0o700);
    const { app } = running.development;
    await running.stop();
    for (const name of readdirSync(dataFolder).filter((one) => !one.startsWith('start.lock'))) {
      if (statSync(join(dataFolder, name)).isFile()) writeFileSync(join(dataFolder, name), 'damaged');
    }
    writeFileSync(join(dataFolder, 'thesis.txt'), 'not ours');
    running = await RunningProgram.start(dataFolder, {}, ['--fresh']);
    expect(running.development.app.id).not.toBe(app.id);
    expect(readFileSync(join(dataFolder, 'thesis.txt'), 'utf8')).toBe('not ours');
  });

  it('makes another app where the file that told of the last one is damaged', async () => {
    const dataFolder = join(folder, 'no-app');
    mkdirSync(dataFolder);
    writeFileSync(join(dataFolder, 'dev.json'), '{"app":');
    running = await RunningProgram.start(dataFolder, {});
    expect(running.development.app.apiKey).toMatch(/^ak_/);
  });

  it('serves the catcher where clients are told another address of the account service', async () => {
    running = await RunningProgram.start(join(folder, 'behind'), { ACCOUNT_URL: 'https://accounts.invalid/' });
    const { eventUrl, accountUrl } = running.development;
    expect(accountUrl).toBe('https://accounts.invalid');
    const token = [{ alg: 'ES256', typ: 'at+jwt', kid: 'none of ours' }, {}].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const answer = await fetch(`${eventUrl}/api/v1/contracts`, {
      headers: { authorization: `Bearer ${token.join('.')}.AAAA` },
    });
    expect(await answer.json()).toMatchObject({ code: 'token_invalid' });
  });

  it.each([
    ['master.key', /master\.key is damaged/],
    ['start.lock', /start\.lock is no lock of ours/],
    ['events.db', /a store in .* cannot be opened/],
    ['keys', /keys/],
    ['chain', /chain/],
  ])('says in one line that its %s is damaged', async (name, reason) => {
    const dataFolder = join(folder, `damaged-${name}`);
    mkdirSync(dataFolder);
    writeFileSync(join(dataFolder, name), 'damaged '.repeat(1_000));
    const said = await refusal(dataFolder);
    expect(said).toMatch(/^annals cannot start: [^\n]*\n$/);
    expect(said).toMatch(reason);
  });

  it.each([
    ['a port twice', { ACCOUNT_PORT: '45999', STREAM_PORT: '45999' }, /ACCOUNT_PORT and STREAM_PORT are both 45999/],
    ['a host that is not here', { ACCOUNT_PORT: '45999', HOST: '192.0.2.1' }, /set HOST to one/],
    ['a folder below a file', { DATA_DIR: '/dev/null/annals' }, /set DATA_DIR to another/],
    ['a proxy that is none', { TRUSTED_PROXIES: 'gateway' }, /TRUSTED_PROXIES/],
  ])('says in one line that it cannot use %s', async (_, settings, reason) => {
    const said = await refusal(join(folder, 'refused'), settings);
    expect(said).toMatch(/^annals cannot start: [^\n]*\n$/);
    expect(said).toMatch(reason);
  });
});
