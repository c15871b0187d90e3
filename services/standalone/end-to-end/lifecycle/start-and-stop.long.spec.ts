import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { rawConnection } from '../../../../shared/testing/http/raw-http.ts';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { testSettings } from '../../../../shared/testing/processes/whole-program.ts';

const HAPPENS_WITHIN_MS = 60_000;
const folder = temporaryFolder();

const chainPid = (dataFolder: string): number => Number(readFileSync(join(dataFolder, 'chain/anvil.pid'), 'utf8'));
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('npm start that is stopped', () => {
  it.each(['start.lock', 'chain/anvil.pid', 'events.db', 'vault.db'])(
    'during its start, as soon as %s exists, ends all its processes and exits with 0',
    async (file) => {
      const dataFolder = join(folder, file.replace('/', '-'));
      const program = ['services/standalone/main.js'];
      await using process = RunningProcess.spawn('npm start', program, { ...testSettings, DATA_DIR: dataFolder });
      await eventually(() => existsSync(join(dataFolder, file)), HAPPENS_WITHIN_MS, `there must be ${file}`);
      const chain = existsSync(join(dataFolder, 'chain/anvil.pid'))
        ? await eventually(() => chainPid(dataFolder) || undefined, HAPPENS_WITHIN_MS, 'the file must name the process')
        : undefined;
      expect(await process.stop()).toBe(0);
      expect(process.output).toMatch(/\nstopping …\nstopped\n$/);
      expect(process.output).not.toContain('cannot start');
      if (chain !== undefined) expect(isRunning(chain)).toBe(false);
      expect(existsSync(join(dataFolder, 'chain/anvil.pid'))).toBe(false);
    },
  );

  it('ends properly while some callers hold requests open and others have disconnected', async () => {
    const dataFolder = join(folder, 'held');
    const running = await RunningProgram.start(dataFolder, {});
    const { accountUrl, eventUrl, streamUrl } = running.development;
    const chain = chainPid(dataFolder);
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
    expect(await running.stop()).toBe(0);
    expect(running.output).toMatch(/\nstopping …\nstopped\n$/);
    expect(isRunning(chain)).toBe(false);
  });

  it('ends when its output is not read any more', async () => {
    const dataFolder = join(folder, 'unread');
    const running = await RunningProgram.start(dataFolder, {});
    const chain = chainPid(dataFolder);
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    expect(await running.stop()).toBe(0);
    expect(isRunning(chain)).toBe(false);
  });
});

describe('npm start on a data folder', () => {
  let running: RunningProgram | undefined;
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });

  it('creates it for its owner alone, and removes its own files from it with --fresh', async () => {
    const dataFolder = join(folder, 'fresh');
    running = await RunningProgram.start(dataFolder, {});
    expect(statSync(dataFolder).mode & 0o777).toBe(0o700);
    const { app } = running.development;
    await running.stop();
    for (const name of readdirSync(dataFolder).filter((one) => !one.endsWith('.lock'))) {
      if (statSync(join(dataFolder, name)).isFile()) writeFileSync(join(dataFolder, name), 'damaged');
    }
    writeFileSync(join(dataFolder, 'thesis.txt'), 'not ours');
    running = await RunningProgram.start(dataFolder, {}, ['--fresh']);
    expect(running.development.app.id).not.toBe(app.id);
    expect(readFileSync(join(dataFolder, 'thesis.txt'), 'utf8')).toBe('not ours');
  });

  it('does not remove data that another process uses', async () => {
    const dataFolder = join(folder, 'shared');
    const settings = { ...testSettings, DATA_DIR: dataFolder };
    await using projector = await new ServiceProcess('projector', settings).ready();
    const stores = () => readdirSync(dataFolder).filter((name) => name.endsWith('.db'));
    const before = stores();
    const start = RunningProcess.spawn('npm start', ['services/standalone/main.js', '--fresh'], settings);
    expect(await start.ended()).toBe(1);
    expect(start.output).toMatch(/is in use by other processes: stop them before --fresh/);
    expect(stores()).toEqual(before);
    await projector.process.stop();
    running = await RunningProgram.start(dataFolder, {}, ['--fresh']);
  });

  it('registers another development app when the file with the last one is damaged', async () => {
    const dataFolder = join(folder, 'no-app');
    mkdirSync(dataFolder);
    writeFileSync(join(dataFolder, 'dev.json'), '{"app":');
    running = await RunningProgram.start(dataFolder, {});
    expect(running.development.app.apiKey).toMatch(/^ak_/);
  });

  it('checks tokens in the event catcher although ACCOUNT_URL is only reachable by clients', async () => {
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
});
