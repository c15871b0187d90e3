import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { isListening } from '../../../local-chain/listening-process.ts';
import { eventually } from '../../eventually.ts';
import { freePort } from '../../processes/free-port.ts';
import { callNode } from '../call-node.ts';

const HOST = '127.0.0.1';
/** Another process may take a free port before geth does. */
const PORTS_MAX = 5;
const ANSWERS_WITHIN_MS = 60_000;
/** Longer than a busy machine needs to write the state of a chain. */
const STOPS_WITHIN_MS = 60_000;
const SHOWN_CHARACTERS = 1_500;
/** The `testing` methods build blocks for tests (execution-apis); `debug` has `debug_setHead`. */
const METHODS = 'eth,net,web3,debug,txpool,testing';

/** A geth as a child process. It answers JSON-RPC to everybody, and the Engine API to the holder of its secret. */
export class GethProcess {
  private constructor(
    readonly rpcUrl: string,
    private readonly engineUrl: string,
    private readonly secret: Buffer,
    private readonly child: ChildProcess,
  ) {}

  /** @param folder holds a chain that `geth init` has made */
  static async start(options: { binary: string; folder: string; chainId: number }): Promise<GethProcess> {
    const secret = randomBytes(32);
    writeFileSync(join(options.folder, 'jwtsecret'), secret.toString('hex'));
    for (let ports = 1; ; ports += 1) {
      try {
        return await GethProcess.startAt(await freePort(2), secret, options);
      } catch (error) {
        const isTaken = error instanceof Error && /address already in use/i.test(String(error.cause));
        if (!isTaken || ports === PORTS_MAX) throw error;
      }
    }
  }

  private static async startAt(
    port: number,
    secret: Buffer,
    { binary, folder, chainId }: { binary: string; folder: string; chainId: number },
  ): Promise<GethProcess> {
    const args = [
      ...['--datadir', folder, '--networkid', String(chainId), '--verbosity', '2'],
      ...['--http', '--http.addr', HOST, '--http.port', String(port), '--http.api', METHODS],
      ...['--authrpc.addr', HOST, '--authrpc.port', String(port + 1), '--authrpc.jwtsecret', join(folder, 'jwtsecret')],
      ...['--port', '0', '--nodiscover', '--maxpeers', '0', '--nat', 'none', '--ipcdisable'],
      // A transaction of a reverted block comes back only if its sender sends it again.
      '--txpool.nolocals',
    ];
    const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const output = { end: '' };
    const say = (text: string) => {
      output.end = (output.end + text).slice(-SHOWN_CHARACTERS);
    };
    child.stderr.on('data', (chunk: Buffer) => {
      say(chunk.toString());
    });
    const killAtExit = () => child.kill('SIGKILL');
    process.once('exit', killAtExit);
    const ended = new Promise<'ended'>((resolve) => {
      child.once('error', (error) => {
        say(String(error));
        resolve('ended');
      });
      child.once('close', () => {
        process.removeListener('exit', killAtExit);
        resolve('ended');
      });
    });
    const urls = { rpc: `http://${HOST}:${String(port)}`, engine: `http://${HOST}:${String(port + 1)}` };
    const started = new GethProcess(urls.rpc, urls.engine, secret, child);
    const isAnswering = async () =>
      hasEnded(child) ||
      (Number(await started.call('eth_chainId')) === chainId && isListening({ pid: child.pid ?? 0, port }));
    const answers = eventually(isAnswering, ANSWERS_WITHIN_MS, 'geth must answer');
    if ((await Promise.race([answers, ended])) !== 'ended' && !hasEnded(child)) return started;
    child.kill('SIGKILL');
    throw new Error(`geth has ended: ${output.end}`, { cause: output.end });
  }

  call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return callNode(this.rpcUrl, method, params);
  }

  /** Calls a method of the Engine API. geth accepts a token for a minute, so that each call has a token of its own. */
  async callEngine(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const token = await new SignJWT().setProtectedHeader({ alg: 'HS256' }).setIssuedAt().sign(this.secret);
    return callNode(this.engineUrl, method, params, { authorization: `Bearer ${token}` });
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;
