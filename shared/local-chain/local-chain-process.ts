import type { Hardfork } from '../chain/hardforks.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { CannotStart } from '../errors/cannot-start.ts';
import { nodeErrorCode } from '../errors/node-error-code.ts';
import { makeFolder } from '../primitives/files/make-folder.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { isListening } from './listening-process.ts';

export interface LocalChain {
  chainId: number;
  rpcUrl: string;
  /** Ends the process, after it has written its state. */
  stop: () => Promise<void>;
}

export interface LocalChainOptions {
  chainId: number;
  /** Default: the newest. Berlin has no base fee. */
  hardfork?: Hardfork | 'berlin';
  /** Holds the state of the chain between starts. */
  folder: string;
  /** 0 means any free port. */
  port: number;
  /** Time for anvil to write its state before it is killed. Default: 4 s. */
  stopsWithinMs?: number;
}

/** How one process is started. */
type ProcessOptions = Required<LocalChainOptions>;

const HOST = '127.0.0.1';
/**
 * Unix seconds of the first block, always the same. anvil makes a new first block at each start and keeps it beside the
 * one of its saved state. Without a fixed time it would return either of the two, and a kept chain would look like
 * another one.
 */
const GENESIS_TIME = 1_700_000_000;
/** In blocks. Enough for a reorganisation by hand, and few enough to see blocks become final. */
export const LOCAL_FINAL_DEPTH = 12;
/** Another process may take a free port before anvil does. */
const PORTS_MAX = 5;
const STARTS_WITHIN_MS = 20_000;
const STOPS_WITHIN_MS = 4_000;
/** Maximum loss when the whole machine crashes. A crash of this program loses nothing. */
const STATE_EVERY_SECONDS = 30;
const POLL_MS = 20;
/** Timeout of one request, which is repeated until anvil answers. */
const ATTEMPT_TIMEOUT_MS = 500;
const ANSWERS_WITHIN_MS = 10_000;

/**
 * Starts the development chain: anvil at the newest hard fork, one block for each transaction, on loopback. It runs
 * outside this program's process group, so that Ctrl-C does not end it first. A start after a crash ends the process of
 * the last start. With port 0, a start whose port another process has just taken is repeated on another port.
 * @param chosenPort returns a port that is free now; used for port 0
 * @throws CannotStart
 */
export const startLocalChain = async (options: LocalChainOptions, chosenPort = freePort): Promise<LocalChain> => {
  const { folder, stopsWithinMs = STOPS_WITHIN_MS } = options;
  makeFolder(folder);
  await endLeftOverChain(folder, stopsWithinMs);
  for (let ports = 1; ; ports += 1) {
    const port = options.port === 0 ? await chosenPort() : options.port;
    try {
      return await startAt({ hardfork: 'osaka', ...options, stopsWithinMs, port });
    } catch (error) {
      if (!(error instanceof PortTaken) || options.port !== 0 || ports === PORTS_MAX) throw error;
    }
  }
};

class PortTaken extends CannotStart {}

const startAt = async (options: ProcessOptions): Promise<LocalChain> => {
  const { chainId, folder, port, stopsWithinMs } = options;
  const pidFile = pidFileOf(folder);
  const child = spawn(anvilBinary(), argumentsFor(options), { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-500);
  });
  const closed = new Promise<string>((resolve) => {
    child.once('close', () => {
      resolve(output.trim());
    });
  });
  const failed = once(child, 'error').then(([error]) => {
    throw new CannotStart(`anvil does not start: ${String(error)}. Delete node_modules and start again`);
  });
  if (child.pid !== undefined) writeFileSync(pidFile, String(child.pid));
  const rpcUrl = `http://${HOST}:${String(port)}`;
  await Promise.race([waitUntilAnswering({ rpcUrl, chainId, port, child, closed }), failed]);
  child.unref();
  // Moves the clock of the chain, so that new blocks have the current time.
  const sinceGenesis = Math.floor(Date.now() / 1_000) - GENESIS_TIME;
  await ask({ rpcUrl, withinMs: ANSWERS_WITHIN_MS }, 'evm_increaseTime', sinceGenesis);
  return { chainId, rpcUrl, stop: () => stop(child, { pidFile, stopsWithinMs }) };
};

const argumentsFor = ({ chainId, hardfork, folder, port }: ProcessOptions): string[] => [
  ...['--host', HOST, '--port', String(port), '--chain-id', String(chainId), '--hardfork', hardfork, '--quiet'],
  // Without this, anvil accepts transactions that no other node of that fork accepts (EIP-7825).
  ...(hardfork === 'osaka' ? ['--enable-tx-gas-limit'] : []),
  // anvil's finalized block is two epochs deep.
  ...['--timestamp', String(GENESIS_TIME), '--slots-in-an-epoch', String(LOCAL_FINAL_DEPTH / 2)],
  ...['--state', join(folder, 'state.json'), '--state-interval', String(STATE_EVERY_SECONDS)],
];

/** Returns the binary in the platform's package. Its wrapper would be a second process to end. */
const anvilBinary = (): string => {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'anvil');
  } catch (cause) {
    throw new CannotStart(
      `there is no local chain for ${process.platform}-${process.arch}: set CHAINS to chains of your own`,
      {
        cause,
      },
    );
  }
};

const pidFileOf = (folder: string): string => join(folder, 'anvil.pid');

/** Ends a chain process that survived a crash of its start, after it has written its state. */
export const endLeftOverChain = async (folder: string, stopsWithinMs = STOPS_WITHIN_MS): Promise<void> => {
  const pidFile = pidFileOf(folder);
  const pid = Number(readIfThere(pidFile) ?? 0);
  if (pid > 0 && isAnvil(pid)) {
    process.kill(pid, 'SIGTERM');
    const deadline = performance.now() + stopsWithinMs;
    while (isAnvil(pid) && performance.now() < deadline) await pause(POLL_MS);
    if (isAnvil(pid)) process.kill(pid, 'SIGKILL');
  }
  rmSync(pidFile, { force: true });
};

/** Whether the process is anvil: the id may belong to another program by now. Always false without /proc. */
const isAnvil = (pid: number): boolean => {
  const [program = ''] = (readIfThere(`/proc/${String(pid)}/cmdline`) ?? '').split('\0');
  return program.endsWith('/anvil');
};

const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (nodeErrorCode(error) === 'ENOENT' || nodeErrorCode(error) === 'ESRCH') return undefined;
    throw error;
  }
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

interface Starting {
  rpcUrl: string;
  chainId: number;
  port: number;
  child: ChildProcess;
  /** The end of its output, once the process has ended. */
  closed: Promise<string>;
}

/** @throws PortTaken, CannotStart */
const waitUntilAnswering = async ({ rpcUrl, chainId, port, child, closed }: Starting): Promise<void> => {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) {
      const message = `anvil ended at once: ${await closed}`;
      throw /address already in use/i.test(message) ? new PortTaken(message) : new CannotStart(message);
    }
    // Another chain with this id may be what answers.
    if ((await chainAt(rpcUrl)) === chainId && isListening({ pid: child.pid ?? 0, port })) return;
    await pause(POLL_MS);
  }
  child.kill('SIGKILL');
  throw new CannotStart(`anvil did not answer at ${rpcUrl} within ${String(STARTS_WITHIN_MS / 1_000)} s`);
};

const chainAt = async (rpcUrl: string): Promise<number | undefined> => {
  try {
    return Number(await ask({ rpcUrl, withinMs: ATTEMPT_TIMEOUT_MS }, 'eth_chainId'));
  } catch {
    return undefined;
  }
};

const ask = async (
  { rpcUrl, withinMs }: { rpcUrl: string; withinMs: number },
  method: string,
  ...params: unknown[]
): Promise<unknown> => {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(withinMs),
  });
  return ((await response.json()) as { result?: unknown }).result;
};

const stop = async (
  child: ChildProcess,
  { pidFile, stopsWithinMs }: { pidFile: string; stopsWithinMs: number },
): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopsWithinMs);
    await ended;
    clearTimeout(timer);
  }
  rmSync(pidFile, { force: true });
};
