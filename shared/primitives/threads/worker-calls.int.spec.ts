import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { WorkerCalls } from './worker-calls.ts';

const folder = temporaryFolder();

const givenEcho = (): WorkerCalls<string, string> => {
  const program = join(folder, 'echo');
  const text = `const { parentPort } = require('node:worker_threads');
parentPort.on('message', (work) => {
  if (work === 'end') process.exit();
  parentPort.postMessage({ answer: work + ' of ' + process.pid });
});`;
  writeFileSync(`${program}.ts`, text);
  return new WorkerCalls({ program: pathToFileURL(program), name: 'echoes' });
};

it('a call is refused if the thread ends, and the next call starts another thread', async () => {
  const calls = givenEcho();
  await expect(calls.call('end')).rejects.toMatchObject({ code: 'dependency_unavailable' });
  expect(await calls.call('one')).toBe(`one of ${String(process.pid)}`);
  await calls.close();
});

it('a thread that is closed starts no more: a command that has ended would wait for it', async () => {
  const calls = givenEcho();
  expect(await calls.call('one')).toBe(`one of ${String(process.pid)}`);
  const underWay = calls.call('two');
  await Promise.allSettled([underWay, calls.close()]);
  await expect(calls.call('three')).rejects.toMatchObject({ code: 'dependency_unavailable' });
});

it('a thread that was never started is closed, too', async () => {
  const calls = givenEcho();
  await calls.close();
  await expect(calls.call('one')).rejects.toMatchObject({ code: 'dependency_unavailable' });
});
