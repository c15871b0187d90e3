import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import type { HistoryThread } from '../../shared/audit/history-thread.ts';
import { Apps } from '../../shared/auth/apps.ts';
import type { OpenedChain } from '../../shared/chain/client/opened-chains.ts';
import type { LatestStates } from '../../shared/chain/state/latest-state.ts';
import { Projections } from '../../shared/edge/answers/projections.ts';
import { RateLimits } from '../../shared/edge/limits/rate-limits.ts';
import type { Transactor } from '../../shared/event-store/transactions/transact.ts';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { VaultKeys } from '../../shared/key-vault/vault-keys.ts';
import { bundleLoopFor } from './bundler/begin-bundling.ts';
import { JsonRpc } from './json-rpc/json-rpc.rpc.ts';
import { AcceptedOperations } from './json-rpc/methods/accepted-operations.ts';
import { DebugBundler } from './json-rpc/methods/debug-bundler.ts';
import { ForeignOperations } from './json-rpc/methods/foreign-operations.ts';
import { OperationEstimates } from './json-rpc/methods/operation-estimates.ts';
import { SignedOperations } from './json-rpc/methods/signed-operations.ts';
import { SponsoredOperations } from './json-rpc/methods/sponsored-operations.ts';
import { RpcMethods } from './json-rpc/rpc-methods.ts';
import { onchainParts, servedChains } from './onchain-parts.ts';
import { ChainStatuses } from './report-chains/chain-statuses.ts';
import { Entities } from './reputation/entities.ts';
import { CancelTransactionHandler } from './sending/cancel-transaction/cancel-transaction.handler.ts';
import { CancelTransactionHttp } from './sending/cancel-transaction/cancel-transaction.http.ts';
import { EstimateGasHandler } from './sending/estimate-gas/estimate-gas.handler.ts';
import { EstimateGasHttp } from './sending/estimate-gas/estimate-gas.http.ts';
import { SendTransactionHandler } from './sending/send-transaction/send-transaction.handler.ts';
import { SendTransactionHttp } from './sending/send-transaction/send-transaction.http.ts';
import { Submissions } from './sending/submissions.ts';
import { ChainConditions } from './served-chains/chain-conditions.ts';
import { CountedSimulations } from './served-chains/counted-simulations.ts';
import { ServedChains } from './served-chains/served-chains.ts';
import { Sponsors } from './sponsorship/sponsors.ts';
import { AccountNonces } from './transactions/account-nonces.ts';
import { AccountUse } from './transactions/account-use.ts';
import {
  GetTransactionHandler,
  ListTransactionsHandler,
} from './transactions/list-transactions/list-transactions.handler.ts';
import { ListTransactionsHttp } from './transactions/list-transactions/list-transactions.http.ts';
import { TransactionsAsOf } from './transactions/list-transactions/transactions-as-of.ts';
import { TransactionCursors } from './transactions/list-transactions/transaction-cursors.ts';
import { OperationDrafts } from './transactions/operation-drafts.ts';
import { OperationReceipts } from './transactions/operation-receipts.ts';
import { ReadReceiptHandler } from './transactions/read-receipt/read-receipt.handler.ts';
import { ReadReceiptHttp } from './transactions/read-receipt/read-receipt.http.ts';
import { TransactionChanges } from './transactions/transaction-changes.ts';

interface OnchainOptions {
  foundation: Foundation & WithKeyVault;
  transactor: Transactor;
  keys: VaultKeys;
  /** Folds transactions as of an earlier position. */
  historyThread: HistoryThread;
  apps: Apps;
  /** Closed by whoever opened them. */
  opened: readonly OpenedChain[];
  latestStates: LatestStates;
  /** How long the status of a chain waits for each of its parts. */
  statusWithinMs: number | undefined;
}

@Module({})
class OnchainModule {}

const CONTROLLERS = [
  CancelTransactionHttp,
  EstimateGasHttp,
  JsonRpc,
  ListTransactionsHttp,
  ReadReceiptHttp,
  SendTransactionHttp,
];
const HANDLERS = [
  CancelTransactionHandler,
  EstimateGasHandler,
  GetTransactionHandler,
  ListTransactionsHandler,
  ReadReceiptHandler,
  SendTransactionHandler,
];

/**
 * The on-chain half of the account service: smart accounts, sponsored operations, transactions and `/rpc`. Besides its module
 * it returns what the other half asks of it (`smartAccounts`, `accountUse`, `chainStatuses`), and the loops that bundle.
 */
export const openOnchain = (options: OnchainOptions) => {
  const { foundation, transactor, keys, historyThread, apps, opened, latestStates } = options;
  const { settings, eventStore, readStore, clock, masterKey } = foundation;
  const chains = servedChains(opened, transactor);
  const parts = onchainParts({ foundation, transactor, keys, apps, chains: settings.CHAINS });
  const { smartAccounts, deposits, sponsors, nonces, drafts, signer, submissions } = parts;
  const conditions = new ChainConditions(clock);
  const receipts = new OperationReceipts(latestStates, clock);
  const entities = new Entities(transactor);
  const rpcMethods: Provider = {
    provide: RpcMethods,
    useFactory: (models: Projections, simulations: CountedSimulations) => {
      const estimates = new OperationEstimates(simulations);
      const foreign = new ForeignOperations(entities);
      return new RpcMethods(chains, {
        estimates,
        signed: new SignedOperations(transactor, nonces, foreign, deposits, conditions, simulations),
        sponsored: new SponsoredOperations(clock, sponsors, signer, estimates, simulations),
        accepted: new AcceptedOperations(readStore, models, receipts, submissions),
        debug: settings.RPC_DEBUG === 'on' ? new DebugBundler({ transactor, readStore, models, entities }) : undefined,
      });
    },
    inject: [Projections, CountedSimulations],
  };
  const module: DynamicModule = {
    module: OnchainModule,
    controllers: CONTROLLERS,
    providers: [
      { provide: Apps, useValue: apps },
      { provide: ServedChains, useValue: chains },
      { provide: Sponsors, useValue: sponsors },
      { provide: AccountNonces, useValue: nonces },
      { provide: OperationDrafts, useValue: drafts },
      { provide: Submissions, useValue: submissions },
      { provide: ChainConditions, useValue: conditions },
      { provide: OperationReceipts, useValue: receipts },
      { provide: TransactionCursors, useValue: new TransactionCursors(masterKey) },
      { provide: TransactionsAsOf, useValue: new TransactionsAsOf(eventStore, historyThread) },
      { provide: TransactionChanges, useValue: new TransactionChanges(readStore) },
      {
        provide: CountedSimulations,
        useFactory: (limits: RateLimits) => new CountedSimulations(limits),
        inject: [RateLimits],
      },
      rpcMethods,
      ...HANDLERS,
    ],
  };
  const bundled = settings.BUNDLER === 'on' ? [...chains.all.values()] : [];
  return {
    module,
    smartAccounts,
    accountUse: new AccountUse(nonces, latestStates),
    chainStatuses: new ChainStatuses({
      served: chains,
      conditions,
      transactor,
      readStore,
      answersWithinMs: options.statusWithinMs,
    }),
    loops: bundled.map((chain) => bundleLoopFor(chain, { foundation, transactor, keys, ...parts })),
  };
};
