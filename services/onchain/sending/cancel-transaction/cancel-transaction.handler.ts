import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { SentTransaction } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import { userKey } from '../../../../shared/auth/holder-key.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { holderOf } from '../../transactions/domain/nonces.ts';
import { idOfReplacement, type Transaction } from '../../transactions/domain/transaction.ts';
import { AccountNonces } from '../../transactions/account-nonces.ts';
import { ChainConditions } from '../../served-chains/chain-conditions.ts';
import { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import { needsDeploying, OperationDrafts, withNonce } from '../../transactions/operation-drafts.ts';
import { requireFunds } from '../required-funds.ts';
import { ServedChains } from '../../served-chains/served-chains.ts';
import { Sponsors, type Sponsor } from '../../sponsorship/sponsors.ts';
import { sentTransactionOf, Submissions, type Submitted } from '../submissions.ts';

/** Cancels a transaction of the caller by an empty operation of the same nonce. */
export class CancelTransaction extends Command<{ sent: SentTransaction; position: Position }> {
  constructor(
    readonly transactionId: string,
    readonly caller: UserCaller,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(CancelTransaction)
export class CancelTransactionHandler implements ICommandHandler<CancelTransaction> {
  constructor(
    private readonly chains: ServedChains,
    private readonly drafts: OperationDrafts,
    private readonly nonces: AccountNonces,
    private readonly sponsors: Sponsors,
    private readonly submissions: Submissions,
    private readonly conditions: ChainConditions,
    private readonly simulations: CountedSimulations,
  ) {}

  async execute({ transactionId, caller, metadata }: CancelTransaction) {
    const { transaction } = (await this.submissions.find(transactionId)) ?? {};
    if (transaction?.submission.userId !== caller.userId) {
      throw new Refusal('transaction_not_found', 'no transaction of this user has this id');
    }
    if (transaction.submission.appId !== caller.appId) await this.sponsors.requireMaySend(caller.appId, undefined);
    const cancelled = await this.newestOf(transaction);
    const id = idOfReplacement(cancelled.submission.transactionId, 'cancelled');
    const known = await this.submissions.find(id);
    // Repeats get the same answer until a block has used the nonce: after that there is nothing to cancel.
    if (!known || transaction.status !== 'submitted') requireCancellable(transaction);
    const { transaction: sent, position } = known ?? (await this.cancel(id, cancelled, caller, metadata));
    return { sent: sentTransactionOf(sent), position };
  }

  /** The transaction may have been replaced by a newly signed one, which has its nonce now. */
  private async newestOf(transaction: Transaction): Promise<Transaction> {
    const { chainId, sender, nonce, transactionId } = transaction.submission;
    const { nonces, transactions } = await this.nonces.inUse({ chainId, sender });
    const holder = holderOf(nonces, BigInt(nonce));
    if (holder === undefined || holder === transactionId) return transaction;
    const newest = transactions.find(({ submission }) => submission.transactionId === holder);
    // A cancellation cannot be cancelled itself.
    return newest && newest.submission.operation.callData !== '0x' ? newest : transaction;
  }

  private async cancel(
    id: string,
    cancelled: Transaction,
    caller: UserCaller,
    metadata: EventMetadata,
  ): Promise<Submitted> {
    const chain = this.chains.get(cancelled.submission.chainId);
    try {
      const app = await this.sponsors.payingApp(undefined, caller.appId);
      const sponsor = await this.sponsors.sponsorOf(app, { chain, sessionAppId: caller.appId, calls: [] });
      return await this.submit(id, cancelled, { caller, sponsor }, metadata);
    } catch (error) {
      if (!(error instanceof Refusal && error.code === 'sponsorship_refused')) throw error;
      await this.sponsors.requireMaySend(caller.appId, undefined);
      return this.submit(id, cancelled, { caller, sponsor: undefined }, metadata);
    }
  }

  private async submit(
    transactionId: string,
    { submission }: Transaction,
    { caller, sponsor }: { caller: UserCaller; sponsor: Sponsor | undefined },
    metadata: EventMetadata,
  ): Promise<Submitted> {
    const { chainId, sender, nonce: text, transactionId: replaces } = submission;
    const { userId, appId } = caller;
    const nonce = BigInt(text);
    const account = await this.drafts.accountOf(userId, chainId);
    const chain = this.chains.get(chainId);
    const estimator = this.simulations.estimatorOfSend(chain, userKey(userId));
    const terms = { call: undefined, tip: undefined, paymaster: sponsor?.paymaster, estimator };
    const draft = await this.drafts.draft(chain, account, terms);
    const others = draft.nonces.transactions.filter((one) => one.submission.nonce !== text);
    const withoutIt = { ...draft, nonces: { ...draft.nonces, transactions: others } };
    const deploys = needsDeploying(withoutIt);
    const operation = withNonce(await this.drafts.withLimits(draft, deploys), nonce, draft.now.rules);
    if (sponsor) await this.sponsors.requireAllowed(sponsor, { chainId, userId, operation });
    else requireFunds({ ...withoutIt, operation });
    await this.conditions.requireGas(chain);
    await this.nonces.reassign(transactionId, { chainId, sender, nonce, deploys }, metadata);
    const { now } = draft;
    return this.submissions.submit(
      { transactionId, userId, appId, account, operation, sponsor, now, replaces },
      metadata,
    );
  }
}

/** @throws Refusal not_cancellable */
const requireCancellable = ({ submission, status }: Transaction): void => {
  if (submission.sponsor) {
    throw new Refusal(
      'not_cancellable',
      "a sponsored transaction ends by itself when the paymaster's signature expires",
    );
  }
  if (status !== 'submitted') throw new Refusal('not_cancellable', `the transaction is ${status}`);
};
