import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { signIn } from '../../../../shared/testing/http/http-caller.ethers.ts';
import { outerEnvironment } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { runStreamCheck } from './run-stream-check.ts';

/** All cases, one after the other, on a machine that does other work too. */
const ALL_WITHIN_MS = 900_000;
const folder = temporaryFolder();
const dataFolder = join(folder, 'data');

let program: RunningProgram;
beforeAll(async () => {
  program = await RunningProgram.start(dataFolder, {});
});
afterAll(() => program.stop());

describe('annals stream-check', () => {
  it(
    'finds every promise kept by npm start, and nothing else is needed beside it',
    async () => {
      const checked = await runStreamCheck(dataFolder, program.development.streamUrl);
      expect(checked.failures).toEqual([]);
      expect(checked).toMatchObject({ code: 0, ids: { skipped: ['pages/public-chain'] } });
      expect(checked.ids.ok.length).toBeGreaterThan(70);
    },
    ALL_WITHIN_MS,
  );

  it('checks a public chain if told that it is one, with a key where the development start has none', async () => {
    const { chainId, rpcUrl, token } = program.development;
    const CHAINS = JSON.stringify([{ chainId, rpcUrls: [rpcUrl], public: true }]);
    const other = await RunningProgram.start(join(folder, 'public'), { CHAINS });
    try {
      const args = [other.development.streamUrl, '--only', 'pages/public-chain', '--only', 'pages/tokens'];
      const without = await runStreamCheck(join(folder, 'public'), ...args);
      expect(without).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('has no account with gas, so give --key'),
      });
      const checked = await runStreamCheck(join(folder, 'public'), ...args, '--key', token?.ownerKey ?? '', '--public');
      expect(checked).toMatchObject({ code: 0, ids: { ok: ['pages/public-chain'], skipped: ['pages/tokens'] } });
    } finally {
      await other.stop();
    }
  });

  it('says what is missing, wrong or away in one line', async () => {
    const { streamUrl } = program.development;
    const away = 'http://127.0.0.1:9';
    for (const [code, says, ...args] of [
      [2, 'so give --token, --event-url, --chain-rpc, --key', away],
      [2, 'no case has the id resume/nothing', streamUrl, '--only', 'resume/nothing'],
      [2, '--key is not a private key', streamUrl, '--key', '0x12'],
      [2, 'It is not an address', 'ftp://stream.example'],
      [1, `no chain answers eth_chainId at ${away}`, streamUrl, '--chain-rpc', away],
      [1, `nothing answers at ${away}`, streamUrl, '--event-url', away],
    ] as const) {
      const { stderr, ...checked } = await runStreamCheck(dataFolder, ...args);
      expect([stderr, checked.code]).toEqual([expect.stringContaining(says), code]);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
  });

  it('stops at Ctrl-C, and leaves no registration behind', async () => {
    const { streamUrl, eventUrl } = program.development;
    const { accessToken: token } = await signIn(program.development);
    const args = ['stream-check', streamUrl, '--token', token, '--only', 'server-sent-events/comments'];
    const child = spawn(process.execPath, ['dist/services/standalone/annals.js', ...args], {
      env: { ...outerEnvironment, DATA_DIR: dataFolder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const registered = async () => {
      const answer = await fetch(`${eventUrl}/api/v1/contracts`, { headers: { authorization: `Bearer ${token}` } });
      return ((await answer.json()) as { items: object[] }).items.length;
    };
    let output = '';
    child.stdout.on('data', (piece: Buffer) => (output += piece.toString()));
    await eventually(async () => (await registered()) === 1, 30_000, 'the check must register its event');
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    expect([code, output]).toEqual([130, '\n0 ok, 0 failed, 0 skipped; interrupted, 1 not run\n']);
    await eventually(async () => (await registered()) === 0, 30_000, 'no registration must be left');
  });
});
