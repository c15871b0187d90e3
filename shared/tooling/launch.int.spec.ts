import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../testing/eventually.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const launcher = join(import.meta.dirname, 'launch.mjs');
const program = join(temporaryFolder(), 'program.mjs');
writeFileSync(
  program,
  `
  import { url } from 'node:inspector';
  const signals = [];
  process.kill(process.pid, 'SIGUSR1');
  process.on('SIGTERM', (signal) => {
    signals.push(signal);
    setTimeout(() => { console.log('drained after', signals.length, 'debugger at', url()); process.exit(7); }, 200);
  });
  process.on('disconnect', () => { console.log('alone'); process.exit(); });
  console.log('up', process.versions.node.split('.')[0], process.argv.slice(2).join(' '));
  `,
);

const launch = () => {
  const code = `import { runNode } from ${JSON.stringify(launcher)}; process.exitCode = await runNode([${JSON.stringify(program)}, '--fresh']);`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '--eval', code]);
  const lines: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => lines.push(...chunk.toString().trim().split('\n')));
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    child,
    lines,
    exit,
    prints: (line: string) => eventually(() => lines.includes(line), 10_000, `it must print: ${line}`),
  };
};

describe('the launcher', () => {
  it('runs a program on Node 26, without a debugger, forwards a repeated signal once, and exits with its exit code', async () => {
    const { child, lines, exit, prints } = launch();
    await prints('up 26 --fresh');
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    expect(await exit).toBe(7);
    expect(lines).toContain('drained after 1 debugger at undefined');
  });

  it('disconnects from its program when it is killed', async () => {
    const { child, prints } = launch();
    await prints('up 26 --fresh');
    child.kill('SIGKILL');
    await prints('alone');
  });
});
