import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ChainSettings } from '../../../../shared/config/chain-settings.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import {
  chainAdministration,
  type ChainAdministration,
  type ChainState,
} from '../../../onchain/chain-administration.ts';
import { acceptChain } from '../../../event-catcher/chain-acceptance.ts';
import { anAddress, blockNumber, chainNumber, wei } from './chain-arguments.ts';
import { servedChain } from './served-chain.ts';
import { command, print, type Json } from '../command.ts';
import { withEngines } from '../with-engines.ts';

interface OnChain extends Json {
  chain: number;
}

const count = (text: string): number => {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is not a number from 1 to 999.');
};
/** Commander shows a default as JSON, which has no bigint. */
const amount = (flags: string, description: string, least: bigint): Option =>
  new Option(flags, description).argParser(wei).default(least, String(least));

const onChain = (name: string, description: string, ...examples: string[]): Command =>
  command(name, description, ...examples.map((example) => `chain ${name} --chain 137${example}`))
    .requiredOption('--chain <id>', 'one of CHAINS', chainNumber)
    .option('--json', 'for machines');

export const chainCommand = (): Command =>
  command(
    'chain',
    'the contracts, keys and funds with which operations are sent on a chain, and what it says of its blocks',
  )
    .addCommand(
      onChain(
        'prepare',
        'deploys and funds what is missing; what is there stays as it is',
        ' --funder-key-file funder.key --deposit 1000000000000000000',
      )
        .option('--funder-key-file <file>', 'a file with the private key, in hex, of an account that pays')
        .addOption(amount('--deposit <wei>', "the least that the paymaster's deposit is to be", 10n ** 17n))
        .option('--executors <count>', 'how many accounts send bundles', count, 4)
        .addOption(amount('--executor-balance <wei>', 'the least that each of them is to have', 5n * 10n ** 16n))
        .action(prepare),
    )
    .addCommand(
      onChain(
        'status',
        'the contracts, the deposit, and the balance, nonce and bundles under way of each executor',
        ' --json',
      ).action(status),
    )
    .addCommand(
      onChain(
        'withdraw',
        "takes from the paymaster's deposit",
        ' --wei 1000000000000000000 --to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      )
        .requiredOption('--wei <wei>', 'how much', wei)
        .requiredOption('--to <address>', 'to whom', anAddress)
        .action(withdraw),
    )
    .addCommand(
      onChain(
        'accept',
        'accepts that a chain dropped a final block, and reads again from the last known final block still on it',
        '',
        ' --from 71000000',
      )
        .option(
          '--from <block>',
          'reverts and reads all from this block on, instead of from a final block that is known',
          blockNumber,
        )
        .action(accept),
    );

interface PrepareOptions extends OnChain {
  funderKeyFile?: string;
  deposit: bigint;
  executors: number;
  executorBalance: bigint;
}

const prepare = ({ chain: chainId, ...options }: PrepareOptions): Promise<void> =>
  withChain({ chainId, changes: true, vault: 'made' }, async (administration, chain) => {
    const { funderKeyFile, executors, deposit: depositWei, executorBalance: executorWei } = options;
    const funderKey = funderKeyFile === undefined ? undefined : readKey(funderKeyFile);
    await administration.prepare(chain, { funderKey, executors, depositWei, executorWei });
    printState(await administration.state(chain), options);
  });

const status = ({ chain: chainId, ...options }: OnChain): Promise<void> =>
  withChain({ chainId, changes: false }, async (administration, chain) => {
    printState(await administration.state(chain), options);
  });

const withdraw = ({ chain: chainId, ...options }: OnChain & { wei: bigint; to: string }): Promise<void> =>
  withChain({ chainId, changes: true }, async (administration, chain) => {
    const { wei: amount, to } = options;
    const transactionHash = await administration.withdraw(chain, amount, to);
    const text = `${String(amount)} wei went to ${to} with ${transactionHash}`;
    print(options, { transactionHash, wei: String(amount), to }, text);
  });

/** Needs no key: it only records the operator's decision. */
const accept = ({ chain: chainId, from, ...options }: OnChain & { from?: number }): Promise<void> =>
  withEngines({ names: ['eventStore'], keepsFiles: false, changes: true }, async (stores, settings) => {
    const chain = servedChain(chainId, settings);
    const accepted = await acceptChain(chain, stores, from);
    const { blockNumber: dropped, droppedHash, currentHash } = accepted;
    const which =
      from === undefined ? 'after the last known final block still on the chain' : `from block ${String(from)} on`;
    const text =
      `chain ${String(chainId)} dropped block ${String(dropped)} ${droppedHash}, and has ${currentHash} in its place: ` +
      `the event catcher reverts all records ${which}, and reads those blocks again`;
    print(options, accepted, text);
  });

const printState = (state: ChainState, options: Json): void => {
  const { chainId, entryPoint, accountFactory, paymaster, executors, missing } = state;
  const isThere = (name: string): string => (missing.includes(name) ? '  not deployed' : '');
  const lines = [
    `chain ${String(chainId)}`,
    `entry point      ${entryPoint}${isThere('entryPoint')}`,
    `account factory  ${accountFactory}${isThere('accountFactory')}`,
    paymaster
      ? `paymaster        ${paymaster.address}  deposit ${paymaster.depositWei} wei, owner ${paymaster.owner}`
      : 'paymaster        none',
    ...executors.map(
      ({ address, wei: balance, nonce, bundlesUnderWay }) =>
        `executor         ${address}  ${balance} wei, ${String(nonce)} transactions, ${String(bundlesUnderWay)} bundles under way`,
    ),
    ...(missing.length > 0 ? ['what is missing is deployed by "annals chain prepare"'] : []),
  ];
  print(options, state, lines.join('\n'));
};

const readKey = (file: string): string => {
  const digits = readFileSync(file, 'utf8').trim().replace(/^0x/, '');
  if (/^[0-9a-fA-F]{64}$/.test(digits)) return `0x${digits}`;
  throw new CannotStart(`${file} has no private key: 64 hex digits`);
};

const withChain = (
  { chainId, changes, vault = 'used' }: { chainId: number; changes: boolean; vault?: 'made' | 'used' },
  work: (administration: ChainAdministration, chain: ChainSettings) => Promise<void>,
): Promise<void> =>
  withEngines({ names: ['eventStore', 'keyVault'], keepsFiles: true, changes, vault }, (engines, settings) => {
    const chain = servedChain(chainId, settings);
    return work(chainAdministration({ ...engines, masterKey: loadMasterKey(settings) }), chain);
  });
