import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomWallet } from '../../../../shared/testing/http/random-wallet.ethers.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { readMarkdown } from '../../testing/markdown.ts';
import { transferTokens } from '../transfer-tokens.ethers.ts';
import { ClientProject } from './client-project.ts';

const root = join(import.meta.dirname, '../../../..');
const SIZE_MAX = 20_480;
const { blocks } = readMarkdown(root, 'shared/client/README.md');
/** The example whose first line names this file. */
const example = (file: string): string => {
  const text = blocks.find((block) => block.text.startsWith(`// ${file}\n`))?.text;
  if (text === undefined) throw new Error(`the README has no ${file}`);
  return text;
};

/** Uses of the types that must compile, and, after the comment of the compiler, those that must not. */
const TYPED = `
import { AnnalsError, createClient, type Session } from '@annals/client';
import { useEvents, useSession } from '@annals/client/react';

const urls = { accountUrl: '', eventUrl: '', streamUrl: '' };
const annals = createClient({ ...urls, apiKey: 'ak_1', signRequest: () => '0x', storage: localStorage });
export const use = async (): Promise<Session> => {
  const page = await annals.query({ chainId: 1, contractAddress: '0x', 'arg.to': '0x' });
  const cursor: string | null = page.cursor;
  for await (const { event, change } of annals.events({ chainId: 1, contractAddress: '0x', eventSignature: 'A' })) {
    const block: number = event.BlockNumber;
    if (change === 'reverted' && block > 1 && cursor === null) break;
  }
  for await (const line of await annals.routes.exportHistory({ params: { id: 'usr_1' } })) void line;
  const status: 'ok' | 'degraded' = (await annals.routes.status()).status;
  void [status, useSession, useEvents, new AnnalsError('gap', '').retryAfter];
  // @ts-expect-error a query names its contract
  await annals.query({ chainId: 1 });
  // @ts-expect-error a misspelt filter would answer everything
  await annals.query({ chainId: 1, contractAddress: '0x', formBlock: 1 });
  // @ts-expect-error there is no such member of the profile
  await annals.routes.updateProfile({ params: { id: 'usr_1' }, body: { surname: 'Ada' } });
  return annals.login.wallet({ address: '0x', signMessage: (text: string) => Promise.resolve(text) });
};
`;

describe('the packed client, in a new project', () => {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  let program: RunningProgram;
  let project: ClientProject;
  beforeAll(async () => {
    program = await RunningProgram.start(data, {});
    project = await ClientProject.make(folder, data);
  });
  afterAll(async () => {
    await project.stop();
    await program.stop();
  });

  const transfer = (...amounts: bigint[]) => transferTokens(program.development, randomWallet().address, amounts);

  it('is small', () => {
    expect(project.packed.gzippedBytes).toBeLessThan(SIZE_MAX);
  });

  it('has types that need no schemas, and refuse what the interface does', async () => {
    project.write('typed.ts', TYPED);
    project.write('transfers.tsx', example('transfers.tsx'));
    expect(await project.compile(['typed.ts', 'transfers.tsx'])).toBe('');
  });

  it('comes to a live event in less than 20 lines', async () => {
    const text = example('first.mjs');
    expect(text.split('\n').length).toBeLessThan(20);
    project.write('first.mjs', text);
    const first = project.start('first.mjs');
    await first.says(/observed \d+ \{/);
    await transfer(4_711n);
    await first.says(/value: '4711'/);
    await first.kill();
  });

  it('asks and sends', async () => {
    project.write('ask.mjs', example('ask.mjs'));
    const asking = project.start('ask.mjs');
    expect([await asking.ended(), asking.output]).toEqual([
      0,
      expect.stringMatching(/^1 \d+ included UserRegistered,.*ProfileUpdated,/),
    ]);
  });

  it('gives a consumer each change once, through deaths of itself and an end of the program', async () => {
    project.write('consumer.mjs', example('consumer.mjs'));
    const consumer = project.start('consumer.mjs');
    await consumer.says(/observed .* 4711\n/);
    await transfer(1n);
    await consumer.says(/observed .* 1\n/);
    await transfer(2n, 3n);
    await consumer.says(/observed .* 3\n/);
    await consumer.kill();
    await transfer(4n);
    const again = project.start('consumer.mjs');
    await again.says(/observed .* 4\n/);
    await program.stop();
    await again.says(/connecting network_error/);
    program = await program.restart();
    await transfer(5n);
    await again.says(/observed .* 5\n/);
    await again.kill();
    const observed = (lines: string[]) => lines.filter((line) => line.startsWith('observed'));
    // What the first had in hand when it was killed may come again, and nothing else.
    const before = observed(consumer.lines);
    const after = observed(again.lines).filter((line) => line !== before.at(-1));
    expect(new Set([...before, ...after]).size).toBe(before.length + after.length);
    expect(after.map((line) => line.split(' ').at(-1))).toEqual(['4', '5']);
  });
});
