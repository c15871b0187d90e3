import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../testing/eventually.ts';
import { isListening } from './listening-process.ts';

const server = createServer();
let port: number;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
});

const statusOf = (pid: number) => readFileSync(`/proc/${String(pid)}/status`, 'utf8');
const nameOf = (pid: number) => /^Name:\s+(\S+)/m.exec(statusOf(pid))?.[1];
const stateOf = (pid: number) => /^State:\s+(\S)/m.exec(statusOf(pid))?.[1];

(existsSync('/proc/net/tcp') ? describe : describe.skip)('the process that listens at a port', () => {
  it('is the process that holds the socket', () => {
    expect(isListening({ pid: process.pid, port })).toBe(true);
    expect(isListening({ pid: process.ppid, port })).toBe(false);
  });

  it('is no process that has ended, even before its parent has asked for the exit code', async () => {
    // The shell becomes a program that never asks for an exit code, so that the killed process stays in /proc.
    const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line);
    await eventually(() => nameOf(Number(parent.pid)) === 'sleep', 60_000, 'the shell must be replaced');
    process.kill(pid, 'SIGKILL');
    await eventually(() => stateOf(pid) === 'Z', 60_000, 'the process must end');
    expect(isListening({ pid, port })).toBe(false);
    parent.kill();
    await once(parent, 'exit');
    expect(isListening({ pid: Number(parent.pid), port })).toBe(false);
  });
});
