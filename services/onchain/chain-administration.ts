import { executorStream } from '../../schemas/events/onchain/executor-events.ts';
import { onchainStream } from '../../schemas/events/onchain/onchain-events.ts';
import { ChainClient } from '../../shared/chain/client/chain-client.ts';
import { ChainUnavailable, MethodMissing } from '../../shared/chain/chain-reader.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import type { ChainSettings } from '../../shared/config/chain-settings.ts';
import { operatorMetadata } from '../../shared/event-store/transactions/own-metadata.ts';
import { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import { personalDataOf } from '../../shared/key-vault/personal-data.ts';
import { chainKeyIds, type VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { addressOfKey } from '../../shared/keys/signatures/secp256k1-keys.ts';
import { preparedChainFold, recordPreparation, type PreparedChain } from './prepare-chain/domain/prepared-chain.ts';
import { executorFold } from './bundler/domain/executor.ts';
import { JsonRpcOperationsChain } from './chain/operations-chain.json-rpc.ts';
import {
  ChainContracts,
  type ChainKeys,
  type ChainState as ContractsState,
  type Funding,
} from './prepare-chain/chain-contracts.ethers.ts';

export type { PreparedChain };

export interface ChainState extends ContractsState {
  /** `bundlesUnderWay`: signed bundles that no block includes yet. */
  executors: (ContractsState['executors'][number] & { bundlesUnderWay: number })[];
}

export interface Preparation extends Funding {
  /** Number of accounts that send bundles. Recorded accounts stay. */
  executors: number;
}

export type ChainAdministration = ReturnType<typeof chainAdministration>;

/** The operator's commands and queries for a chain. They need the stores and a node, but no running service. */
export const chainAdministration = (
  foundation: Pick<Foundation & WithKeyVault, 'eventStore' | 'keyVault' | 'masterKey' | 'clock' | 'ids'>,
) => {
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
    const chainKeys = await chainKeysOf(keys, chain.chainId, { known, executors });
    // What one node has seen, another may not have seen yet.
    const client = new ChainClient(chain.chainId, chain.rpcUrls.slice(0, 1));
    const node = { client, operations: new JsonRpcOperationsChain(client, chain) };
    try {
      return await work(new ChainContracts(node, chain, chainKeys, known));
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      if (error instanceof MethodMissing) throw new CannotStart(error.message, { cause: error });
      const what = `chain ${String(chain.chainId)} does not answer`;
      throw new CannotStart(`${what}: see that its node runs, and that CHAINS is right (${error.message})`, {
        cause: error,
      });
    } finally {
      client.close();
    }
  };

  const bundlesUnderWay = async (chainId: number, executor: string): Promise<number> => {
    const { state } = await transactor.load(executorStream(chainId, executor), executorFold);
    return state.bundles.filter(({ mined }) => !mined).length;
  };

  return {
    /** Deploys and funds what is missing, and records the result. @throws CannotStart */
    prepare: async (chain: ChainSettings, { executors, ...funding }: Preparation): Promise<PreparedChain> => {
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
    /** @throws CannotStart */
    state: async (chain: ChainSettings): Promise<ChainState> => {
      const state = await withContracts(chain, (contracts) => contracts.state());
      const executors = state.executors.map(async (one) => ({
        ...one,
        bundlesUnderWay: await bundlesUnderWay(chain.chainId, one.address),
      }));
      return { ...state, executors: await Promise.all(executors) };
    },
    /** Withdraws from the paymaster's deposit. @returns the hash of the transaction @throws CannotStart */
    withdraw: (chain: ChainSettings, wei: bigint, to: string) =>
      withContracts(chain, (contracts) => contracts.withdraw(wei, to)),
  };
};

/** The recorded executors of a chain must have their keys already: a missing key of theirs was lost. */
const addKeys = async (
  keys: VaultKeys,
  chainId: number,
  { known, executors }: { known: PreparedChain | undefined; executors: number },
): Promise<void> => {
  const before = known?.executors.length ?? 0;
  const added = Array.from({ length: Math.max(0, executors - before) }, (_, at) => before + at);
  if (!known || added.length > 0) await keys.makeChainKeys(chainId, { paymaster: !known, executors: added });
};

const chainKeysOf = async (
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
