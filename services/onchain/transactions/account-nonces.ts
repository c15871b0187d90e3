import type { EventMetadata } from '../../../schemas/events/event.ts';
import { noncesStream, type NonceEvent } from '../../../schemas/events/onchain/nonce-events.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import {
  assignNonce,
  claimNonce,
  newestOfKey,
  newestTransactions,
  nonceOfTransaction,
  noncesFold,
  releaseNonce,
  replacedBy,
  reassignNonce,
  type NonceClaim,
  type Nonces,
} from './domain/nonces.ts';
import { TAKEN_OUT, type Transaction } from './domain/transaction.ts';
import { loadTransaction } from './load-transaction.ts';
import { SharedReads } from './shared-reads.ts';

export interface AccountOnChain {
  chainId: number;
  sender: string;
}

/** The nonces of an account, and the transactions that have the newest nonce of each key. */
export interface NoncesInUse {
  nonces: Nonces;
  transactions: readonly Transaction[];
  /** Those transactions that were never stored: their senders got no answer. */
  unstored: ReadonlySet<string>;
}

export interface AssignedNonce {
  nonce: bigint;
  /** Whether the operation deploys the account. */
  deploys: boolean;
}

/** Assigns nonces to transactions. One stream for each account decides, whatever process asks. */
export class AccountNonces {
  private readonly readings = new SharedReads<NoncesInUse>();

  constructor(private readonly transactor: Transactor) {}

  async of({ chainId, sender }: AccountOnChain): Promise<Nonces> {
    return (await this.transactor.load(noncesStream(chainId, sender), noncesFold)).state;
  }

  inUse(account: AccountOnChain): Promise<NoncesInUse> {
    return this.readings.read(noncesStream(account.chainId, account.sender), () => this.readInUse(account));
  }

  /** Gives a transaction a nonce, or returns the nonce that it has. */
  async assign(
    transactionId: string,
    { isDeployed, ...account }: AccountOnChain & { isDeployed: boolean },
    { transactions, unstored }: NoncesInUse,
    metadata: EventMetadata,
  ): Promise<AssignedNonce> {
    const ids = (all: readonly Transaction[]) => new Set(all.map(({ submission }) => submission.transactionId));
    const usedUp = ids(transactions.filter(({ block }) => block));
    const dropped = ids(transactions.filter(({ status }) => status === 'dropped'));
    const state = await this.change(account, metadata, (nonces, nowMs) =>
      assignNonce(nonces, transactionId, { ...account, usedUp, dropped, isDeployed, unstored, nowMs }),
    );
    const nonce = nonceOfTransaction(state, transactionId);
    if (nonce === undefined) throw new Error('the nonce that was assigned is missing');
    return { nonce, deploys: state.deployedBy === transactionId };
  }

  /** Gives a transaction the nonce of the transaction that it replaces, or the nonce in its signed operation. */
  async reassign(
    transactionId: string,
    { nonce, deploys, ...account }: AccountOnChain & AssignedNonce,
    metadata: EventMetadata,
  ): Promise<void> {
    await this.change(account, metadata, (nonces) =>
      reassignNonce(nonces, transactionId, { ...account, nonce, deploys }),
    );
  }

  /**
   * Gives a nonce to an operation that the client signed for it.
   * @param bundled returns the transactions that are in a bundle; called only if another transaction has the nonce
   * @returns the transaction that it replaces; `null` if there is none
   * @throws NonceTaken
   */
  async claim(
    transactionId: string,
    claim: NonceClaim,
    bundled: () => Promise<ReadonlySet<string>>,
    metadata: EventMetadata,
  ): Promise<string | null> {
    const holder = newestOfKey(await this.of(claim), claim.nonce) ?? transactionId;
    const newest = await loadTransaction(this.transactor, holder);
    const unstored = new Set(newest ? [] : [holder]);
    const isOther = newest && newest.submission.transactionId !== transactionId;
    const givesWay = isOther && (newest.status === 'dropped' || newest.delayedBy === TAKEN_OUT);
    const dropped = new Set(givesWay ? [newest.submission.transactionId] : []);
    const inBundles = isOther ? await bundled() : new Set<string>();
    const state = await this.change(claim, metadata, (nonces, nowMs) =>
      claimNonce(nonces, transactionId, claim, { dropped, bundled: inBundles, unstored, nowMs }),
    );
    return replacedBy(state, transactionId);
  }

  async release(transactionId: string, account: AccountOnChain, metadata: EventMetadata): Promise<void> {
    await this.change(account, metadata, (nonces) => releaseNonce(nonces, transactionId, account));
  }

  private async readInUse(account: AccountOnChain): Promise<NoncesInUse> {
    const nonces = await this.of(account);
    const ids = newestTransactions(nonces);
    const loaded = await Promise.all(ids.map((id) => loadTransaction(this.transactor, id)));
    return {
      nonces,
      transactions: loaded.filter((one) => one !== undefined),
      unstored: new Set(ids.filter((_, at) => !loaded[at])),
    };
  }

  private async change(
    { chainId, sender }: AccountOnChain,
    metadata: EventMetadata,
    decide: (nonces: Nonces, nowMs: number) => readonly NonceEvent[],
  ): Promise<Nonces> {
    const { state } = await this.transactor.transact({
      stream: noncesStream(chainId, sender),
      fold: noncesFold,
      metadata,
      decide,
    });
    return state;
  }
}
