import { onchainStream } from '../../schemas/events/onchain-events.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { RateLimits } from '../../shared/edge/rate-limits.ts';
import { systemMetadata } from '../../shared/event-store/own-metadata.ts';
import type { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { addressOfKey } from '../../shared/keys/secp256k1-keys.ts';
import type { SupervisedLoop } from '../../shared/loops/supervised-loop.ts';
import { bundleLoop, type BegunAsPrepared } from './bundle-operations/bundle-loop.ts';
import { Bundler } from './bundle-operations/bundler.ts';
import { BundlingControl } from './bundle-operations/bundling-control.ts';
import { ExecutorAccount } from './bundle-operations/executor-account.ts';
import { Records } from './bundle-operations/records.ts';
import { SignedAnew } from './bundle-operations/replacements.ts';
import { ReservationsOnChain } from './bundle-operations/reservations-on-chain.ts';
import { CancelTransactionHandler } from './cancel-transaction/cancel-transaction.handler.ts';
import { CancelTransactionHttp } from './cancel-transaction/cancel-transaction.http.ts';
import { preparedChainFold, recordPreparation, type PreparedChain } from './domain/prepared-chain.ts';
import { AccountNonces } from './edge/account-nonces.ts';
import { Apps } from './edge/apps.ts';
import { ChainConditions } from './edge/chain-conditions.ts';
import { CountedSimulations } from './edge/counted-simulations.ts';
import { Deposits } from './edge/deposits.ts';
import { OperationDrafts } from './edge/operation-drafts.ts';
import { OperationSigner } from './edge/operation-signer.ts';
import { JsonRpcOperationsChain } from './edge/operations-chain.json-rpc.ts';
import { ServedChain, ServedChains } from './edge/served-chains.ts';
import type { SmartAccounts } from './edge/smart-accounts.ts';
import { Sponsors } from './edge/sponsors.ts';
import { Sponsorships } from './edge/sponsorships.ts';
import { Submissions } from './edge/submissions.ts';
import { EstimateGasHandler } from './estimate-gas/estimate-gas.handler.ts';
import { EstimateGasHttp } from './estimate-gas/estimate-gas.http.ts';
import { jsonRpcControllers, jsonRpcProviders } from './json-rpc.module.ts';
import { SendTransactionHandler } from './send-transaction/send-transaction.handler.ts';
import { SendTransactionHttp } from './send-transaction/send-transaction.http.ts';

interface OnchainParts {
  foundation: Foundation;
  transactor: Transactor;
  keys: VaultKeys;
  smartAccounts: SmartAccounts;
}

/** What signs and stores operations. */
export const sendingParts = ({
  foundation: { readStore, clock },
  transactor,
  keys,
  smartAccounts,
}: Omit<OnchainParts, 'foundation'> & { foundation: Pick<Foundation, 'readStore' | 'clock'> }) => {
  const sponsorships = new Sponsorships(transactor);
  const deposits = new Deposits(readStore, sponsorships, clock);
  const sponsors = new Sponsors(new Apps(transactor), sponsorships, deposits, transactor);
  const nonces = new AccountNonces(transactor);
  const drafts = new OperationDrafts(transactor, smartAccounts, nonces);
  const signer = new OperationSigner(keys);
  const submissions = new Submissions(transactor, signer, sponsors);
  return { sponsorships, deposits, sponsors, nonces, drafts, signer, submissions };
};

/** Sending on chain: what requests need, and a loop for each chain that bundles. */
export const onchainSends = ({ foundation, transactor, keys, smartAccounts }: OnchainParts) => {
  const { settings, readStore, clock } = foundation;
  const chains = new ServedChains(
    new Map(
      (settings.CHAINS ?? []).map((one) => [
        one.chainId,
        new ServedChain(one, new JsonRpcOperationsChain(one), transactor),
      ]),
    ),
  );
  const sending = sendingParts({ foundation, transactor, keys, smartAccounts });
  const { deposits, sponsors, nonces, drafts, signer, submissions } = sending;
  const conditions = new ChainConditions(clock);
  const parts = { foundation, transactor, keys, ...sending };
  return {
    chains,
    controllers: [SendTransactionHttp, EstimateGasHttp, CancelTransactionHttp, ...jsonRpcControllers],
    providers: [
      { provide: ServedChains, useValue: chains },
      { provide: Sponsors, useValue: sponsors },
      { provide: AccountNonces, useValue: nonces },
      { provide: OperationDrafts, useValue: drafts },
      { provide: Submissions, useValue: submissions },
      { provide: ChainConditions, useValue: conditions },
      {
        provide: CountedSimulations,
        useFactory: (limits: RateLimits) => new CountedSimulations(limits),
        inject: [RateLimits],
      },
      ...jsonRpcProviders({
        chains,
        transactor,
        readStore,
        isDebug: settings.RPC_DEBUG === 'on',
        nonces,
        sponsors,
        deposits,
        submissions,
        signer,
        conditions,
      }),
      SendTransactionHandler,
      EstimateGasHandler,
      CancelTransactionHandler,
    ],
    loops: [...chains.all.values()].map((chain) => loopOf(chain, parts)),
  };
};

interface BundlerParts extends Pick<OnchainParts, 'transactor' | 'keys'> {
  foundation: Pick<Foundation, 'clock' | 'logger'> & { settings: Pick<Settings, 'RPC_DEBUG'> };
  drafts: OperationDrafts;
  nonces: AccountNonces;
  sponsors: Sponsors;
  submissions: Submissions;
  sponsorships: Sponsorships;
}

const loopOf = (chain: ServedChain, parts: BundlerParts & Pick<OnchainParts, 'foundation'>): SupervisedLoop => {
  const { eventStore, readStore, logger } = parts.foundation;
  const { chainId } = chain.settings;
  return bundleLoop({
    chainId,
    eventStore,
    readStore,
    logger,
    begin: () => beginBundling(chain, parts),
  });
};

/** Returns what sends operations of a chain; `undefined` while it is not prepared. */
export const beginBundling = async (chain: ServedChain, parts: BundlerParts): Promise<BegunAsPrepared | undefined> => {
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
      throw new Error(`the vault has not the key of the executor ${address}: restore it from its backup`);
    }),
  );
  const reservations = new ReservationsOnChain(chainId, paymaster, sponsorships);
  const metadata = () => systemMetadata(transactor.ids, 'account');
  const records = new Records(transactor, chainId);
  const control = foundation.settings.RPC_DEBUG === 'on' ? new BundlingControl(records, foundation.clock) : undefined;
  const bundler = new Bundler({
    chain: chain.operations,
    confirmations,
    feeCap: chain.feeCap,
    records,
    control,
    bundlerUrls: chain.settings.bundlerUrls ?? [],
    executors,
    own: { accountFactory, paymaster },
    settlements: reservations,
    replacements: new SignedAnew(chain, drafts, nonces, sponsors, submissions, metadata),
    clock: foundation.clock,
    logger: foundation.logger,
  });
  const isOutdated = async () => !(await isPreparedAs(prepared, parts, chainId));
  return { bundler, reservations, control, isOutdated };
};
