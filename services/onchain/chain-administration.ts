import { executorStream } from '../../schemas/events/executor-events.ts';
import { onchainStream } from '../../schemas/events/onchain-events.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';
import { operatorMetadata } from '../../shared/event-store/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { chainKeyIds, type VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { addressOfKey } from '../../shared/keys/secp256k1-keys.ts';
import { preparedChainFold, recordPreparation, type PreparedChain } from './domain/prepared-chain.ts';
import { executorFold } from './domain/executor.ts';
import {
  ChainContracts,
  type ChainKeys,
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

  const recorded = async (chainId: number) => (await transactor.load(onchainStream(chainId), preparedChainFold)).state;

  const withContracts = async <Result>(
    chain: ChainSettings,
    work: (contracts: ChainContracts) => Promise<Result>,
    executorsMin = 0,
  ): Promise<Result> => {
    const known = await recorded(chain.chainId);
    const executors = Math.max(executorsMin, known?.executors.length ?? 0);
    const contracts = new ChainContracts(chain, await chainKeys(keys, chain.chainId, { known, executors }), known);
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
    prepare: async (chain, { executors, ...funding }) => {
      const { chainId } = chain;
      await addKeys(keys, chainId, { known: await recorded(chainId), executors });
      return withContracts(
        chain,
        async (contracts) => {
          const prepared = await contracts.prepare(funding);
          await transactor.transact({
            stream: onchainStream(chainId),
            fold: preparedChainFold,
            metadata: operatorMetadata(ids),
            decide: (known) => recordPreparation(known, prepared),
          });
          return prepared;
        },
        executors,
      );
    },
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

/** The first executors of a chain that was prepared have their keys: what is missing of these was lost. */
const addKeys = async (
  keys: VaultKeys,
  chainId: number,
  { known, executors }: { known: PreparedChain | undefined; executors: number },
): Promise<void> => {
  const before = known?.executors.length ?? 0;
  const added = Array.from({ length: Math.max(0, executors - before) }, (_, at) => before + at);
  if (!known || added.length > 0) await keys.makeChainKeys(chainId, { paymaster: !known, executors: added });
};

const chainKeys = async (
  keys: VaultKeys,
  chainId: number,
  { known, executors }: { known: PreparedChain | undefined; executors: number },
): Promise<ChainKeys> => {
  const numbers = Array.from({ length: executors }, (_, number) => number);
  const found = {
    paymaster: known ? await keys.paymasterKey(chainId) : await keys.paymasterKeyIfAny(chainId),
    executors: await Promise.all(numbers.map((number) => keys.executorKey(chainId, number))),
  };
  const recorded = known ? [known.paymasterOwner, ...known.executors] : [];
  for (const [at, key] of [found.paymaster, ...found.executors].entries()) {
    const address = recorded[at];
    if (!key || address === undefined || addressOfKey(key) === address) continue;
    const id = chainKeyIds(chainId, executors)[at] ?? '';
    throw new CannotStart(
      `the key ${id} of the key vault is not that of ${address}: restore the vault from its backup`,
    );
  }
  return { paymaster: found.paymaster && hexOf(found.paymaster), executors: found.executors.map(hexOf) };
};

const hexOf = (key: Buffer): string => `0x${key.toString('hex')}`;
