import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Hardfork } from '../../../chain/hardforks.ts';
import { hex } from '../wire-forms.ts';

interface Genesis {
  config: Record<string, unknown> & { blobSchedule: Record<string, unknown> };
  gasLimit: string;
  alloc: Record<string, { balance: string }>;
}

interface GenesisOptions {
  binary: string;
  folder: string;
  chainId: number;
  hardfork: Hardfork;
  /** Addresses that have plenty of ether. */
  funded: readonly string[];
}

/** The forks after London that are active from the first block. */
const FORKS: Record<Hardfork, readonly string[]> = {
  london: [],
  prague: ['shanghai', 'cancun', 'prague'],
  osaka: ['shanghai', 'cancun', 'prague', 'osaka'],
};
/** The gas of a block of Ethereum since 2025. */
const BLOCK_GAS = 60_000_000;
const PLENTY_WEI = 10n ** 30n;
const run = promisify(execFile);

/**
 * Writes the first block into the folder of a new chain. Its contracts are those of geth's development chain: the system
 * contracts of each fork, and the deterministic deployer.
 */
export const writeGenesis = async ({ binary, folder, chainId, hardfork, funded }: GenesisOptions): Promise<void> => {
  const { stdout } = await run(binary, ['--dev', 'dumpgenesis']);
  const { config, ...genesis } = JSON.parse(stdout) as Genesis;
  const names = Object.keys(config).filter((name) => !name.endsWith('Time'));
  const always = Object.fromEntries(names.map((name) => [name, config[name]]));
  const forks = Object.fromEntries(FORKS[hardfork].map((name) => [`${name}Time`, 0]));
  const { cancun, prague } = config.blobSchedule;
  const blobSchedule = { cancun, prague, osaka: prague };
  const plenty = { balance: hex(PLENTY_WEI) };
  const balances = Object.fromEntries(funded.map((address) => [address.slice(2).toLowerCase(), plenty]));
  const written = {
    ...genesis,
    config: { ...always, ...forks, chainId, blobSchedule },
    gasLimit: hex(BLOCK_GAS),
    alloc: { ...genesis.alloc, ...balances },
  };
  const file = join(folder, 'genesis.json');
  writeFileSync(file, JSON.stringify(written));
  await run(binary, ['--datadir', folder, '--verbosity', '1', 'init', file]);
};
