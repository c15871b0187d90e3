import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { freePort } from '../../../../shared/testing/processes/free-port.ts';
import { installedPackages } from '../installed-packages.ts';

const VERSION = '0.0.20';
const STARTS_WITHIN_MS = 60_000;

/** Another bundler, as a process of its own. */
export interface RunningBundler {
  url: string;
  pid: number | undefined;
  stop: () => Promise<void>;
}

export interface AltoOptions {
  rpcUrl: string;
  entryPoint: string;
  /** Private keys, each of an account with a balance. */
  executors: readonly string[];
  utility: string;
  /** Further flags of the bundler. */
  flags: readonly string[];
}

/** Starts Alto, without a log, which would be tens of kilobytes per operation. */
export const startAlto = async ({
  rpcUrl,
  entryPoint,
  executors,
  utility,
  flags,
}: AltoOptions): Promise<RunningBundler> => {
  const port = await freePort();
  const accounts = ['-x', executors.join(','), '-u', utility];
  const options = ['-e', entryPoint, ...accounts, '-r', rpcUrl, '--port', String(port), '--log-level', 'fatal'];
  const child = spawn(process.execPath, [installedAlto(), 'run', ...options, ...flags], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const url = `http://127.0.0.1:${String(port)}`;
  await eventually(() => isUp(url), STARTS_WITHIN_MS, 'Alto must start');
  return {
    url,
    pid: child.pid,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
};

const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/health`)).ok;
  } catch {
    return false;
  }
};

/** Returns the path of its program. */
const installedAlto = (): string =>
  join(
    installedPackages(`alto-${VERSION}`, [`@pimlico/alto@${VERSION}`]),
    'node_modules/@pimlico/alto/esm/cli/alto.js',
  );
