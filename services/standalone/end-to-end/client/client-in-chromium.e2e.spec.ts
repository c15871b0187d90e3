import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { ChromiumPage, hasChromium } from '../../../../shared/testing/processes/chromium.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { readMarkdown } from '../../testing/markdown.ts';
import { transferTokens } from '../transfer-tokens.ethers.ts';
import { ClientProject } from './client-project.ts';
import { ClientSite } from './client-site.ts';

const root = join(import.meta.dirname, '../../../..');
const WITHIN_MS = 60_000;
const component = readMarkdown(root, 'shared/client/README.md').blocks.find(({ language }) => language === 'tsx');
const run = promisify(execFile);

const describeInChromium = hasChromium ? describe : describe.skip;
if (!hasChromium)
  process.stdout.write('the client in Chromium: skipped, there is no /usr/bin/chromium and CHROMIUM names none\n');

describeInChromium('the packed client in Chromium, with the React component of its README', () => {
  const folder = temporaryFolder();
  const DATA_DIR = join(folder, 'data');
  let program: RunningProgram;
  let site: ClientSite;
  let page: ChromiumPage;

  beforeAll(async () => {
    program = await RunningProgram.start(DATA_DIR, {});
    const project = await ClientProject.make(folder, DATA_DIR);
    project.write('first.mjs', readMarkdown(root, 'shared/client/README.md').blocks[1]?.text ?? '');
    const registering = project.start('first.mjs');
    await registering.says(/observed/);
    await registering.kill();
    site = await ClientSite.start(project, program.development, component?.text ?? '');
    const annals = join(root, 'dist/services/standalone/annals.js');
    const allow = [annals, 'app', 'allow-origin', program.development.app.id, site.origin];
    await run(process.execPath, allow, { cwd: folder, env: { ...outerEnvironment, DATA_DIR } });
    page = await ChromiumPage.open(join(folder, 'chromium'));
    await page.send('Page.enable');
    await page.send('Page.navigate', { url: site.origin });
    await becomes('window.isReady');
    await page.evaluate(`{
      const frame = document.createElement('iframe');
      frame.src = '/';
      document.body.append(frame);
    }`);
    await becomes('frames[0]?.isReady');
  });
  afterAll(async () => {
    await page.close();
    await site.stop();
    await program.stop();
  });

  const becomes = (expression: string) =>
    eventually(() => page.evaluate(expression), WITHIN_MS, `${expression} must become true`);
  const text = (frame = 'window') => page.evaluate(`${frame}.document.getElementById('root').innerText`);
  /** As after a long time: both tabs find the session stale. */
  const goStale = () =>
    page.evaluate(`{
      const key = Object.keys(localStorage).find((name) => name.endsWith('.session'));
      localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key)), staleAt: 0 }));
      for (const one of [window, frames[0]]) one.refreshes.length = 0;
    }`);
  const tokens = () =>
    page.evaluate('Promise.all([annals, frames[0].annals, annals].map((one) => one.accessToken()))') as Promise<
      string[]
    >;
  const refreshes = () => page.evaluate('[...refreshes, ...frames[0].refreshes]') as Promise<string[]>;

  it('signs in by a wallet of the browser, in all tabs', async () => {
    expect(await text()).toBe('signed_out');
    // An origin is allowed within two seconds.
    const userId = await eventually(() => page.evaluate('login()'), WITHIN_MS, 'the wallet must sign in');
    expect(userId).toMatch(/^0x[0-9a-f]{40}$/);
    await becomes(`frames[0].annals.session.state.userId === ${JSON.stringify(userId)}`);
  });

  it('shows history and what happens, in all tabs', async () => {
    await transferTokens(program.development, randomWallet().address, [4_711n]);
    for (const frame of ['window', 'frames[0]']) {
      await eventually(
        async () => /^live\n+[^]*\n4711$/.test(String(await text(frame))),
        WITHIN_MS,
        'it must be shown',
      );
    }
  });

  it('refreshes once for all tabs', async () => {
    const before = await tokens();
    await goStale();
    const after = await tokens();
    expect([new Set(before).size, new Set(after).size, new Set([...before, ...after]).size]).toEqual([1, 1, 2]);
    expect(await refreshes()).toHaveLength(1);
  });

  it('stays signed in when the answer of a refresh is lost', async () => {
    await goStale();
    await page.evaluate('{ answersToLose = 2; frames[0].answersToLose = 2; }');
    expect(new Set(await tokens()).size).toBe(1);
    const keys = await refreshes();
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
    expect(await page.evaluate('annals.routes.listSessions().then(({ items }) => items.length)')).toBe(1);
  });

  it('adds a passkey to the user, and signs in with it', async () => {
    await page.send('WebAuthn.enable');
    const options = {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    };
    await page.send('WebAuthn.addVirtualAuthenticator', { options });
    const before = await page.evaluate('annals.session.state.userId');
    const linked = await page.evaluate('annals.login.passkey({ link: true }).then(({ userId }) => userId)');
    await page.evaluate('annals.logout()');
    const again = await page.evaluate('annals.login.passkey().then(({ userId }) => userId)');
    expect([linked, again]).toEqual([before, before]);
  });

  it('signs out in all tabs', async () => {
    await page.evaluate('annals.logout()');
    for (const frame of ['window', 'frames[0]']) {
      await eventually(async () => (await text(frame)) === 'signed_out', WITHIN_MS, 'it must be shown');
    }
  });
});
