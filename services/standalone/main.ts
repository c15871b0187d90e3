import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { endLeftOverChain } from '../../shared/local-chain/local-chain-process.ts';
import { useDataFolder } from '../../shared/host/engines/engines.ts';
import { haveFolderAlone, lockForStart } from '../../shared/host/engines/folder-locks.sqlite.ts';
import { requireFreePorts, requireWritable, type PortToTake } from '../../shared/host/preflight.ts';
import { runProcess, type StartingProcess } from '../../shared/host/run-process.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { startStandalone } from './standalone.ts';
import { welcome } from './welcome.ts';

/** The names that `--fresh` removes; other files in the folder are kept. */
const REMOVED_BY_FRESH =
  /^((events|bus|read|vault)\.db(-wal|-shm|-journal)?|chain|keys|(master\.key|dev\.json)(\.[\da-f-]{36})?)$/;

const start = async (starting: StartingProcess, isFresh: boolean): Promise<string> => {
  await prepare(starting, isFresh);
  return welcome(await startStandalone(starting), starting.settings, performance.now());
};

const prepare = async (starting: StartingProcess, isFresh: boolean): Promise<void> => {
  const { settings, shutdown } = starting;
  const { DATA_DIR } = settings;
  requireWritable(DATA_DIR);
  shutdown.add('lock', lockForStart(DATA_DIR));
  const chainFolder = join(DATA_DIR, 'chain');
  if (existsSync(chainFolder)) await endLeftOverChain(chainFolder);
  await requireFreePorts(portsToTake(settings));
  if (isFresh) empty(DATA_DIR);
  useDataFolder(starting);
};

const empty = (dataFolder: string): void => {
  const free = haveFolderAlone(dataFolder, '--fresh removes their data');
  for (const name of readdirSync(dataFolder).filter((one) => REMOVED_BY_FRESH.test(one))) {
    rmSync(join(dataFolder, name), { recursive: true });
  }
  free();
};

const portsToTake = (settings: Settings): PortToTake[] => {
  const ports = (['ACCOUNT_PORT', 'EVENT_CATCHER_PORT', 'STREAM_PORT', 'METRICS_PORT'] as const).map((setting) => ({
    setting,
    host: settings.HOST,
    port: settings[setting],
  }));
  if (settings.CHAINS) return ports;
  return [...ports, { setting: 'LOCAL_CHAIN_PORT', host: '127.0.0.1', port: settings.LOCAL_CHAIN_PORT }];
};

const EXAMPLES = [
  'npm start',
  'npm start -- --fresh',
  '# Beside another one, on free ports, which are others after each start:',
  'DATA_DIR=/tmp/other ACCOUNT_PORT=0 EVENT_CATCHER_PORT=0 STREAM_PORT=0 LOCAL_CHAIN_PORT=0 METRICS_PORT=0 npm start',
];

await new Command('npm start --')
  .description('starts every service in this process, and a local chain unless CHAINS is set')
  .option('--fresh', 'removes all data of an earlier start from the data folder first')
  .addHelpText('after', `\nExamples:\n${EXAMPLES.map((example) => `  ${example}`).join('\n')}`)
  .action(({ fresh = false }: { fresh?: boolean }) => runProcess((starting) => start(starting, fresh)))
  .parseAsync();
