import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { ChromiumPage, hasChromium } from '../../../../shared/testing/processes/chromium.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { readMarkdown } from '../../testing/markdown.ts';
import { transfersOnChain, transferTokens } from '../transfer-tokens.ethers.ts';
import { ClientProject, type ProjectProgram } from './client-project.ts';
import { ClientSite } from './client-site.ts';
import { pythonWith } from './python.ts';

const root = join(import.meta.dirname, '../../../..');
const examples = join(root, 'deploy/examples');
const WITHIN_MS = 60_000;
const run = promisify(execFile);

const python = pythonWith(
  ['requests', 'socketio', 'aiohttp'],
  join(examples, 'follow-without-library/requirements.txt'),
);
const hasCurl = existsSync('/usr/bin/curl');
const whereThereIs = (what: string, isThere: boolean) => {
  if (!isThere) process.stdout.write(`the examples with ${what}: skipped, there is none\n`);
  return isThere ? it : it.skip;
};

describe('the examples that follow an event, beside one program', () => {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  let program: RunningProgram;
  let project: ClientProject;
  let consumer: ProjectProgram;
  let chromium: ChromiumPage | undefined;
  let sent = 1_000n;

  beforeAll(async () => {
    program = await RunningProgram.start(data, {});
    project = await ClientProject.make(folder, data);
    for (const example of ['follow-in-node', 'follow-in-page', 'follow-without-library'])
      cpSync(join(examples, example), project.folder, { recursive: true });
    consumer = project.start('consumer.mjs');
    await consumer.says(/live/);
  });
  afterAll(async () => {
    await chromium?.close();
    await project.stop();
    await program.stop();
  });

  /** Transfers amounts that were not sent before. @returns the last of them */
  const transfer = async (count: number): Promise<string> => {
    const amounts = Array.from({ length: count }, () => (sent += 1n));
    await transferTokens(program.development, randomWallet().address, amounts);
    return String(sent);
  };
  const stored = (): string[] => {
    const database = new DatabaseSync(join(project.folder, 'transfers.db'), { readOnly: true });
    try {
      return database
        .prepare('SELECT receiver, value FROM transfers')
        .all()
        .map(({ receiver, value }) => `${String(value)} to ${String(receiver).toLowerCase()}`)
        .sort();
    } finally {
      database.close();
    }
  };
  const allow = async (origin: string) => {
    const args = [join(root, 'dist/services/standalone/annals.js'), 'app', 'allow-origin', program.development.app.id];
    await run(process.execPath, [...args, origin], { cwd: folder, env: { ...outerEnvironment, DATA_DIR: data } });
    const { accountUrl, streamUrl } = program.development;
    const headers = { origin, 'access-control-request-method': 'POST' };
    for (const address of [`${accountUrl}/auth/web3`, `${streamUrl}/api/v1/stream`]) {
      const isAllowed = async () =>
        (await fetch(address, { method: 'OPTIONS', headers })).headers.get('access-control-allow-origin') === origin;
      await eventually(isAllowed, WITHIN_MS, `${address} must allow the origin`);
    }
  };
  const open = async (address: string): Promise<ChromiumPage> => {
    chromium ??= await ChromiumPage.open(join(folder, 'chromium'));
    await chromium.send('Page.enable');
    await chromium.send('Page.navigate', { url: address });
    return chromium;
  };
  const shows = async (page: ChromiumPage, saying: RegExp) => {
    const text = async () => String(await page.evaluate('document.body.innerText'));
    const isShown = async () => saying.test(await text());
    await eventually(isShown, WITHIN_MS, 'it must be shown').catch(async (cause: unknown) => {
      throw new Error(`the page must show ${String(saying)}:\n${await text()}`, { cause });
    });
  };

  it('in Node: has each transfer once, whatever was killed', async () => {
    for (const isKilled of [{ consumer: true }, { server: true }, { consumer: true, server: true }]) {
      await transfer(4);
      if (isKilled.consumer) await consumer.kill();
      if (isKilled.server) await program.kill();
      if (isKilled.server) program = await program.restart();
      await transfer(2);
      if (isKilled.consumer) consumer = project.start('consumer.mjs');
    }
    const last = await transfer(1);
    const hasLast = () => stored().some((line) => line.startsWith(`${last} to`));
    await eventually(hasLast, WITHIN_MS, 'the last one must be stored').catch((cause: unknown) => {
      throw new Error(`the consumer must store ${last}:\n${consumer.output}`, { cause });
    });
    expect(stored()).toEqual((await transfersOnChain(program.development)).sort());
    expect(consumer.hasEnded).toBe(false);
  });

  whereThereIs('curl', hasCurl)('with curl: prints what was and what happens', async () => {
    const readme = readMarkdown(root, 'deploy/examples/follow-without-library/README.md');
    const command = readme.blocks.find(({ text }) => text.startsWith('curl'))?.text ?? '';
    const { streamUrl, chainId, token } = program.development;
    const asked = { STREAM_URL: streamUrl, CHAIN_ID: String(chainId), CONTRACT: token?.address ?? '' };
    const curl = project.startCommand('/bin/sh', ['-c', `exec ${command}`], asked);
    await curl.says(/event: live/);
    const amount = await transfer(1);
    await curl.says(new RegExp(`event: event\ndata: .*"${amount}"`));
    await curl.kill();
  });

  const scripts = ['follow_stream.py', 'follow_pages.py', 'follow_socket.py'];
  whereThereIs('Python, requests and python-socketio', python !== undefined)(
    'in Python: prints each change, and goes on after kills of itself and of the server',
    async () => {
      const start = () => scripts.map((script) => project.startCommand(python ?? '', [script]));
      const firsts = start();
      const first = await transfer(2);
      for (const script of firsts) await script.says(new RegExp(`observed ${first}\n`));
      await Promise.all(firsts.map((script) => script.kill()));
      await transfer(2);
      const seconds = start();
      const second = await transfer(1);
      for (const script of seconds) await script.says(new RegExp(`observed ${second}\n`));
      await program.kill();
      program = await program.restart();
      const last = await transfer(1);
      for (const [index, script] of seconds.entries()) {
        await script.says(new RegExp(`observed ${last}\n`));
        const observed = (lines: string[] = []) => lines.filter((line) => line.startsWith('observed'));
        const before = observed(firsts[index]?.lines);
        // What the first had printed just before it was killed may come again.
        const after = observed(script.lines).slice(-Number(BigInt(last) - BigInt(first)));
        const wanted = Array.from(after, (_, at) => `observed ${String(BigInt(first) + 1n + BigInt(at))}`);
        // The output is compared with itself, so that a failure shows it.
        const { output } = script;
        expect({ after, isRepeated: new Set(before).size < before.length, output }).toEqual({
          after: wanted,
          isRepeated: false,
          output,
        });
        await script.kill();
      }
    },
  );

  whereThereIs('Chromium', hasChromium)('in a page: shows what was and what happens', async () => {
    const server = project.start('serve.mjs', { PORT: '0' });
    await server.says(/open http/);
    const origin = /http:\S+/.exec(server.output)?.[0] ?? '';
    await allow(origin);
    const page = await open(origin);
    await shows(page, /^live/);
    const amount = await transfer(1);
    await shows(page, new RegExp(`^live\\s+${amount} to 0x`));
    await server.kill();
  });

  whereThereIs('React in Chromium', hasChromium)('in React: compiles, signs in and shows what happens', async () => {
    const text = readFileSync(join(examples, 'follow-in-react/transfers.tsx'), 'utf8');
    project.write('transfers.tsx', text);
    expect(await project.compile(['transfers.tsx'])).toBe('');
    const site = await ClientSite.start(project, program.development, text);
    await allow(site.origin);
    const page = await open(site.origin);
    await shows(page, /Sign in/);
    await page.evaluate(`document.querySelector('button').click()`);
    await shows(page, /^live/);
    const amount = await transfer(1);
    await shows(page, new RegExp(`^live\\s+${amount} to 0x`));
    await site.stop();
  });
});
