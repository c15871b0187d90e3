import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { JsonObject } from '../../../schemas/json.ts';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import type { WholeProgram } from '../../../shared/testing/processes/whole-program.ts';
import type { ChainState } from '../../onchain/chain-administration.ts';

/** When blocks are mined. */
export type Mining = 'at once' | 'each second' | 'none';

/** Starts a program with these settings. */
export type StartProgram<Program extends WholeProgram> = (
  dataFolder: string,
  settings: Record<string, string>,
) => Promise<Program>;

interface ProgramOnChainOptions<Program extends WholeProgram> {
  folder: string;
  start: StartProgram<Program>;
  anvil: Anvil;
  /** Further settings of the chain in `CHAINS`. */
  chain?: JsonObject;
  /** Other chains in `CHAINS`. */
  otherChains?: readonly JsonObject[];
  settings?: Record<string, string>;
}

const CHAIN = String(Anvil.chainId);
const run = promisify(execFile);

/** A program, the command line beside it, and a chain of its own that it serves. */
export class ProgramOnChain<Program extends WholeProgram> {
  private constructor(
    readonly dataFolder: string,
    private readonly settings: Record<string, string>,
    readonly anvil: Anvil,
    /** The program that is running now. */
    public program: Program,
  ) {}

  static async start<Program extends WholeProgram>({
    folder,
    start,
    anvil,
    chain = {},
    otherChains = [],
    settings: more = {},
  }: ProgramOnChainOptions<Program>): Promise<ProgramOnChain<Program>> {
    const first = { chainId: Anvil.chainId, rpcUrls: [anvil.rpcUrl], confirmations: 3, ...chain };
    const CHAINS = JSON.stringify([first, ...otherChains]);
    const settings = { CHAINS, ...more };
    const dataFolder = join(folder, 'data');
    const program = await start(dataFolder, settings);
    writeFileSync(join(folder, 'funder.key'), LOCAL_FUNDER_KEY);
    return new ProgramOnChain(dataFolder, settings, anvil, program);
  }

  async stop(): Promise<void> {
    await this.program.stop();
    await this.anvil.stop();
  }

  /** Runs an operator's command. @returns its output; rejects if it fails */
  async annals(...args: readonly string[]): Promise<string> {
    return (await this.annalsIn(this.dataFolder, ...args)).stdout;
  }

  annalsIn(dataFolder: string, ...args: readonly string[]): Promise<{ stdout: string }> {
    const program = ['dist/services/standalone/annals.js', ...args];
    const env = { PATH: process.env['PATH'], DATA_DIR: dataFolder, ...this.settings };
    return run(process.execPath, program, { env });
  }

  /** Prepares the chain, or tops up its funds. */
  async prepare(funds: readonly string[] = []): Promise<ChainState> {
    const funder = ['--funder-key-file', join(this.dataFolder, '..', 'funder.key')];
    return JSON.parse(
      await this.annals('chain', 'prepare', '--chain', CHAIN, '--json', ...funder, ...funds),
    ) as ChainState;
  }

  async chainState(): Promise<ChainState> {
    return JSON.parse(await this.annals('chain', 'status', '--chain', CHAIN, '--json')) as ChainState;
  }

  /** Makes the program's app pay for operations, within these limits. */
  async setPolicy(limits: readonly string[] = []): Promise<void> {
    await this.annals(
      'app',
      'policy',
      'set',
      this.program.development.app.id,
      '--chain',
      CHAIN,
      '--no-limit',
      ...limits,
    );
  }

  async mining(mining: Mining): Promise<void> {
    // This also turns off automatic mining.
    await this.anvil.call('evm_setIntervalMining', mining === 'each second' ? 1 : 0);
    if (mining === 'at once') await this.anvil.call('evm_setAutomine', true);
  }

  async mine(blocks: number): Promise<void> {
    await this.anvil.call('anvil_mine', `0x${blocks.toString(16)}`);
  }
}
