import type { EventMetadata } from '../../../schemas/events/event.ts';
import { noncesStream, type NonceEvent } from '../../../schemas/events/nonce-events.ts';
import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import {
  assignNonce,
  claimNonce,
  newestOfKey,
  newestTransactions,
  nonceOfTransaction,
  noncesFold,
  releaseNonce,
  replacedBy,
  takeNonce,
  type NonceClaim,
  type Nonces,
} from '../domain/nonces.ts';
import { TAKEN_OUT, transactionFold, type Transaction } from '../domain/transaction.ts';
import { SharedReads } from './shared-reads.ts';

export interface AccountOnChain {
  chainId: number;
  sender: string;
}

/** An account's nonces, and the transactions that have the newest of each key. */
export interface NoncesInUse {
  nonces: Nonces;
  transactions: readonly Transaction[];
  /** Those of them that were never stored: whoever sent them had no answer. */
  unstored: ReadonlySet<string>;
}

export interface AssignedNonce {
  nonce: bigint;
  /** Whether its operation is the one that deploys the account. */
  deploys: boolean;
}

/** Which transaction has which nonce: decided by one stream for each account, in whatever process. */
export class AccountNonces {
  private readonly readings = new SharedReads<NoncesInUse>();

  constructor(private readonly transactor: Transactor) {}

  async of({ chainId, sender }: AccountOnChain): Promise<Nonces> {
    return (await this.transactor.load(noncesStream(chainId, sender), noncesFold)).state;
  }

  inUse(account: AccountOnChain): Promise<NoncesInUse> {
    return this.readings.read(noncesStream(account.chainId, account.sender), () => this.readInUse(account));
  }

  /** Gives a transaction a nonce, or returns the one that it has. */
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

  /** Gives a transaction the nonce of the one that it replaces, or that it came signed for. */
  async take(
    transactionId: string,
    { nonce, deploys, ...account }: AccountOnChain & AssignedNonce,
    metadata: EventMetadata,
  ): Promise<void> {
    await this.change(account, metadata, (nonces) => takeNonce(nonces, transactionId, { ...account, nonce, deploys }));
  }

  /**
   * Gives a nonce to an operation that came signed for it.
   * @param bundled transactions that are in a bundle, asked for only if the nonce is another one's
   * @returns the transaction that it takes the place of; `null` without one
   * @throws NonceTaken
   */
  async claim(
    transactionId: string,
    claim: NonceClaim,
    bundled: () => Promise<ReadonlySet<string>>,
    metadata: EventMetadata,
  ): Promise<string | null> {
    const holder = newestOfKey(await this.of(claim), claim.nonce) ?? transactionId;
    const newest = await this.transaction(holder);
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
    const loaded = await Promise.all(ids.map((id) => this.transaction(id)));
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

  private async transaction(id: string): Promise<Transaction | undefined> {
    return (await this.transactor.load(transactionStream(id), transactionFold)).state;
  }
}
