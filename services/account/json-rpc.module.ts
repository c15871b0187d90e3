import type { Provider } from '@nestjs/common';
import { Projections } from '../../shared/edge/projections.ts';
import type { Transactor } from '../../shared/event-store/transact.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import type { AccountNonces } from './edge/account-nonces.ts';
import type { ChainConditions } from './edge/chain-conditions.ts';
import { CountedSimulations } from './edge/counted-simulations.ts';
import type { Deposits } from './edge/deposits.ts';
import { Entities } from './edge/entities.ts';
import { OperationReceipts } from './edge/operation-receipts.ts';
import type { OperationSigner } from './edge/operation-signer.ts';
import type { ServedChains } from './edge/served-chains.ts';
import type { Sponsors } from './edge/sponsors.ts';
import type { Submissions } from './edge/submissions.ts';
import { AcceptedOperations } from './json-rpc/accepted-operations.ts';
import { DebugBundler } from './json-rpc/debug-bundler.ts';
import { ForeignOperations } from './json-rpc/foreign-operations.ts';
import { JsonRpc } from './json-rpc/json-rpc.rpc.ts';
import { OperationEstimates } from './json-rpc/operation-estimates.ts';
import { RpcMethods } from './json-rpc/rpc-methods.ts';
import { SignedOperations } from './json-rpc/signed-operations.ts';
import { SponsoredOperations } from './json-rpc/sponsored-operations.ts';

/** `POST /rpc`. */
export const jsonRpcControllers = [JsonRpc];

interface JsonRpcParts {
  chains: ServedChains;
  transactor: Transactor;
  readStore: ReadStore;
  isDebug: boolean;
  nonces: AccountNonces;
  sponsors: Sponsors;
  deposits: Deposits;
  submissions: Submissions;
  signer: OperationSigner;
  conditions: ChainConditions;
}

export const jsonRpcProviders = (parts: JsonRpcParts): Provider[] => {
  const { chains, transactor, readStore, isDebug, nonces, sponsors, deposits, submissions, signer, conditions } = parts;
  const entities = new Entities(transactor);
  const foreign = new ForeignOperations(entities);
  return [
    {
      provide: RpcMethods,
      useFactory: (models: Projections, receipts: OperationReceipts, simulations: CountedSimulations) => {
        const estimates = new OperationEstimates(simulations);
        return new RpcMethods(chains, {
          estimates,
          signed: new SignedOperations(transactor, nonces, foreign, deposits, conditions, simulations),
          sponsored: new SponsoredOperations(transactor.clock, sponsors, signer, estimates, simulations),
          accepted: new AcceptedOperations(readStore, models, receipts, submissions),
          debug: isDebug ? new DebugBundler({ transactor, readStore, models, entities }) : undefined,
        });
      },
      inject: [Projections, OperationReceipts, CountedSimulations],
    },
  ];
};
