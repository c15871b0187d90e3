import { onchainStream } from '../../../schemas/events/onchain/onchain-events.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { systemMetadata } from '../../../shared/event-store/transactions/own-metadata.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import type { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { addressOfKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { preparedChainFold, recordPreparation, type PreparedChain } from '../prepare-chain/domain/prepared-chain.ts';
import type { Submissions } from '../sending/submissions.ts';
import type { ServedChain } from '../served-chains/served-chains.ts';
import type { Sponsors } from '../sponsorship/sponsors.ts';
import type { Sponsorships } from '../sponsorship/sponsorships.ts';
import type { AccountNonces } from '../transactions/account-nonces.ts';
import type { OperationDrafts } from '../transactions/operation-drafts.ts';
import { bundleLoop, type PreparedBundler } from './bundle-loop.ts';
import { Bundler } from './bundler.ts';
import { BundlingControl } from './bundling-control.ts';
import { ExecutorAccount } from './bundles/executor-account.ts';
import { BundlerStreams } from './mempool/bundler-streams.ts';
import { OperationResigner } from './mempool/resigner.ts';
import { ReservationsOnChain } from './reservations-on-chain.ts';

export interface BundlerParts {
  foundation: Pick<WorkerFoundation, 'clock' | 'logger'> & { settings: Pick<Settings, 'RPC_DEBUG'> };
  transactor: Transactor;
  keys: VaultKeys;
  drafts: OperationDrafts;
  nonces: AccountNonces;
  sponsors: Sponsors;
  submissions: Submissions;
  sponsorships: Sponsorships;
}

/** Returns the loop that sends the user operations of a chain in bundles. */
export const bundleLoopFor = (
  chain: ServedChain,
  parts: BundlerParts & { foundation: WorkerFoundation },
): SupervisedLoop => {
  const { eventStore, readStore, logger } = parts.foundation;
  const { chainId } = chain.settings;
  return bundleLoop({ chainId, eventStore, readStore, logger, begin: () => beginBundling(chain, parts) });
};

/** Returns the bundler of a chain; `undefined` until `annals chain prepare` has run for the chain. */
export const beginBundling = async (chain: ServedChain, parts: BundlerParts): Promise<PreparedBundler | undefined> => {
  const { state } = await parts.transactor.load(onchainStream(chain.settings.chainId), preparedChainFold);
  return state && begin(chain, state, parts);
};

const isPreparedAs = async (
  prepared: PreparedChain,
  { transactor }: BundlerParts,
  chainId: number,
): Promise<boolean> => {
  const { state } = await transactor.load(onchainStream(chainId), preparedChainFold);
  return state !== undefined && recordPreparation(prepared, state).length === 0;
};

const begin = async (chain: ServedChain, prepared: PreparedChain, parts: BundlerParts) => {
  const { foundation, transactor, keys, drafts, nonces, sponsors, submissions, sponsorships } = parts;
  const { chainId, confirmations, entryPoint, accountFactory, paymaster = prepared.paymaster } = chain.settings;
  const executors = await Promise.all(
    prepared.executors.map(async (address, number) => {
      const privateKey = await keys.executorKey(chainId, number);
      if (addressOfKey(privateKey) === address)
        return new ExecutorAccount(chainId, entryPoint, { address, privateKey });
      throw new Error(`the vault does not have the key of the executor ${address}: restore the vault from its backup`);
    }),
  );
  const reservations = new ReservationsOnChain(chainId, paymaster, sponsorships);
  const metadata = () => systemMetadata(transactor.ids, 'account');
  const streams = new BundlerStreams(transactor, chainId);
  const control = foundation.settings.RPC_DEBUG === 'on' ? new BundlingControl(streams, foundation.clock) : undefined;
  const bundler = new Bundler({
    chain: chain.operations,
    confirmations,
    feeCap: chain.feeCap,
    streams,
    control,
    bundlerUrls: chain.settings.bundlerUrls ?? [],
    executors,
    own: { accountFactory, paymaster },
    settlements: reservations,
    resigner: new OperationResigner(chain, drafts, nonces, sponsors, submissions, metadata),
    clock: foundation.clock,
    logger: foundation.logger,
  });
  const isOutdated = async () => !(await isPreparedAs(prepared, parts, chainId));
  return { bundler, reservations, control, isOutdated };
};
