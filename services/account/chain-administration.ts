import { executorStream } from '../../schemas/events/executor-events.ts';
import { onchainStream } from '../../schemas/events/onchain-events.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';
import { operatorMetadata } from '../../shared/event-store/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import type { VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { preparedChainFold, recordPreparation, type PreparedChain } from './domain/prepared-chain.ts';
import { executorFold } from './domain/executor.ts';
import {
  ChainContracts,
  type ChainState as ContractsState,
  type Funding,
} from './prepare-chain/chain-contracts.ethers.ts';

export type { PreparedChain };

export interface ChainState extends ContractsState {
  /** `bundlesUnderWay`: those that were signed, and that no block has. */
  executors: (ContractsState['executors'][number] & { bundlesUnderWay: number })[];
}

export interface Preparation extends Funding {
  /** How many accounts send bundles; those that were recorded stay. */
  executors: number;
}

/** The commands and queries of an operator for a chain. They need the stores and a node, and no running service. */
export interface ChainAdministration {
  /** Deploys and funds what is missing, and records what there is. @throws CannotStart */
  prepare: (chain: ChainSettings, preparation: Preparation) => Promise<PreparedChain>;
  /** @throws CannotStart */
  state: (chain: ChainSettings) => Promise<ChainState>;
  /** Takes from the paymaster's deposit. @returns the hash of the transaction. @throws CannotStart */
  withdraw: (chain: ChainSettings, wei: bigint, to: string) => Promise<string>;
}

export const chainAdministration = (
  foundation: Pick<Foundation & WithKeyVault, 'eventStore' | 'keyVault' | 'masterKey' | 'clock' | 'ids'>,
): ChainAdministration => {
  const { eventStore, clock, ids } = foundation;
  const transactor = new Transactor(eventStore, clock, ids);
  const { keys } = personalDataOf(foundation);

  const withContracts = async <Result>(
    chain: ChainSettings,
    work: (contracts: ChainContracts) => Promise<Result>,
    executorsMin = 0,
  ): Promise<Result> => {
    const { state: known } = await transactor.load(onchainStream(chain.chainId), preparedChainFold);
    const executors = Math.max(executorsMin, known?.executors.length ?? 0);
    const contracts = new ChainContracts(chain, await chainKeys(keys, chain.chainId, executors), known);
    try {
      return await work(contracts);
    } finally {
      contracts.close();
    }
  };

  const bundlesUnderWay = async (chainId: number, executor: string): Promise<number> => {
    const { state } = await transactor.load(executorStream(chainId, executor), executorFold);
    return state.bundles.filter(({ mined }) => !mined).length;
  };

  return {
    prepare: (chain, { executors, ...funding }) =>
      withContracts(
        chain,
        async (contracts) => {
          const prepared = await contracts.prepare(funding);
          await transactor.transact({
            stream: onchainStream(chain.chainId),
            fold: preparedChainFold,
            metadata: operatorMetadata(ids),
            decide: (known) => recordPreparation(known, prepared),
          });
          return prepared;
        },
        executors,
      ),
    state: async (chain) => {
      const state = await withContracts(chain, (contracts) => contracts.state());
      const executors = state.executors.map(async (one) => ({
        ...one,
        bundlesUnderWay: await bundlesUnderWay(chain.chainId, one.address),
      }));
      return { ...state, executors: await Promise.all(executors) };
    },
    withdraw: (chain, wei, to) => withContracts(chain, (contracts) => contracts.withdraw(wei, to)),
  };
};

const chainKeys = async (keys: VaultKeys, chainId: number, executors: number) => {
  const hex = (key: Buffer) => `0x${key.toString('hex')}`;
  const numbers = Array.from({ length: executors }, (_, number) => number);
  return {
    paymaster: hex(await keys.paymasterKey(chainId)),
    executors: await Promise.all(numbers.map(async (number) => hex(await keys.executorKey(chainId, number)))),
  };
};
