import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const folder = temporaryFolder();
const plant = (...args: string[]) => {
  const TMPDIR = mkdtempSync(join(folder, 'run-'));
  const program = join(import.meta.dirname, 'plant-mutants.mjs');
  const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, TMPDIR } });
  const exit = once(child, 'close') as Promise<[code: number | null]>;
  return { child, exit, output: text(child.stdout), left: () => readdirSync(TMPDIR) };
};

it('a run over one file reports its mutants and removes its temporary folder', async () => {
  const { exit, output, left } = plant('shared/message-bus/message-size.ts', '--json');
  const report = JSON.parse(await output) as { percent: number; mutants: number };
  expect(report).toMatchObject({ files: [{ file: 'shared/message-bus/message-size.ts', mutants: report.mutants }] });
  expect(report.mutants).toBeGreaterThan(5);
  expect(await exit).toEqual([report.percent < 85 ? 1 : 0, null]);
  expect(left()).toEqual([]);
});

it('a run that is interrupted removes its temporary folder', async () => {
  const { child, exit, left } = plant('services/onchain');
  await eventually(() => left().length > 0, 30_000, 'it must create a temporary folder');
  child.kill('SIGINT');
  expect(await exit).toEqual([130, null]);
  expect(left()).toEqual([]);
});

it('a run over a file that is not pure is refused', async () => {
  const { child, exit } = plant('services/account/main.ts');
  expect(await text(child.stderr)).toContain('There is no pure file at services/account/main.ts');
  expect(await exit).toEqual([1, null]);
});
