import type { AccountStatus } from '../../../schemas/http/account/account-routes.ts';

/** The stores that are up: only those are asked. */
export interface StoresUp {
  readStore: boolean;
  eventStore: boolean;
}

export interface ReportedChain {
  status: AccountStatus['chains'][number];
  /** Whether the chain can take operations. */
  isWell: boolean;
}

/** Tells how the chains are on which operations are sent. The on-chain half of the system knows. */
export abstract class ChainStatuses {
  /** Returns all served chains by ascending id, within 2 s, also while a chain or a store is down. */
  abstract report(up: StoresUp): Promise<ReportedChain[]>;
}
