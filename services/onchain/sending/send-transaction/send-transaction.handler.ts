import type { AssignedAccount } from '../../../../schemas/events/account/user-events.ts';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import type { SentTransaction, TransactionRequest } from '../../../../schemas/http/onchain/onchain-routes.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import { userKey } from '../../../../shared/auth/holder-key.ts';
import { invalid, Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { faultOfBounds } from '../../operations/domain/operation-bounds.ts';
import { ruleAgainstTip, refusedBy } from '../../sponsorship-policy/domain/sponsorship-policy.ts';
import { idOfRequest, newTransactionId } from '../../transactions/domain/transaction.ts';
import { AccountNonces } from '../../transactions/account-nonces.ts';
import { ChainConditions } from '../../served-chains/chain-conditions.ts';
import { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import { withNonce, needsDeploying, OperationDrafts, type Draft } from '../../transactions/operation-drafts.ts';
import { requireFunds } from '../required-funds.ts';
import { ServedChains, type ServedChain } from '../../served-chains/served-chains.ts';
import { Sponsors, type Sponsor } from '../../sponsorship/sponsors.ts';
import { sentTransactionOf, Submissions, type Submitted } from '../submissions.ts';
import { readCall } from '../transaction-request.ts';

/** Sends a transaction from the smart account of the caller. It is executed at most once, whatever happens. */
export class SendTransaction extends Command<{ sent: SentTransaction; position: Position }> {
  constructor(
    readonly request: TransactionRequest,
    readonly caller: UserCaller,
    /** The same for each repeat of a request with an idempotency key. */
    readonly onceId: string | undefined,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

interface Send extends Pick<UserCaller, 'userId' | 'appId'> {
  chain: ServedChain;
  transactionId: string;
  request: TransactionRequest;
  call: ReturnType<typeof readCall>;
}

@CommandHandler(SendTransaction)
export class SendTransactionHandler implements ICommandHandler<SendTransaction> {
  constructor(
    private readonly transactor: Transactor,
    private readonly chains: ServedChains,
    private readonly drafts: OperationDrafts,
    private readonly nonces: AccountNonces,
    private readonly sponsors: Sponsors,
    private readonly submissions: Submissions,
    private readonly conditions: ChainConditions,
    private readonly simulations: CountedSimulations,
  ) {}

  async execute({ request, caller, onceId, metadata }: SendTransaction) {
    const { transactor } = this;
    const transactionId = onceId === undefined ? newTransactionId(transactor.ids.token(26)) : idOfRequest(onceId);
    const submitted =
      (onceId === undefined ? undefined : await this.submissions.find(transactionId)) ??
      (await this.send(transactionId, request, caller, metadata));
    return { sent: sentTransactionOf(submitted.transaction), position: submitted.position };
  }

  private async send(
    transactionId: string,
    request: TransactionRequest,
    { userId, appId }: UserCaller,
    metadata: EventMetadata,
  ): Promise<Submitted> {
    const chain = this.chains.get(request.chainId);
    const call = readCall(request);
    const account = await this.drafts.accountOf(userId, request.chainId);
    if (call.to === account.address) {
      throw invalid({ path: 'transactionReq.to', message: 'is the account itself, which could replace its own code' });
    }
    // A repeat may be refused, too, although it has a nonce from before.
    return this.unlessRefused(transactionId, account, metadata, () =>
      this.sendFrom(account, { chain, transactionId, request, call, userId, appId }, metadata),
    );
  }

  private async sendFrom(
    account: AssignedAccount,
    { chain, transactionId, request, call, userId, appId }: Send,
    metadata: EventMetadata,
  ): Promise<Submitted> {
    const app = await this.sponsors.payingApp(request.appApiKey, appId);
    await this.sponsors.requireMaySend(appId, request.sponsor ? app.id : undefined);
    const sponsor = request.sponsor
      ? await this.sponsors.sponsorOf(app, { chain, sessionAppId: appId, calls: [call] })
      : undefined;
    const estimator = this.simulations.estimatorOfSend(chain, userKey(userId));
    const terms = { call, tip: call.tip, paymaster: sponsor?.paymaster, estimator };
    const draft = await this.drafts.draft(chain, account, terms);
    const deploys = needsDeploying(draft);
    const operation = await this.drafts.withLimits(draft, deploys);
    const fault = faultOfBounds(operation, { ...draft.now, dataFeeGas: 0n });
    if (fault !== undefined) throw invalid({ path: 'transactionReq', message: fault });
    requireFunds({ ...draft, operation });
    if (sponsor) await this.requireSponsored(sponsor, { ...draft, operation }, userId);
    await this.conditions.requireGas(chain);
    const assigned = await this.nonces.assign(
      transactionId,
      { chainId: request.chainId, sender: account.address, isDeployed: draft.state.hasCode },
      draft.nonces,
      metadata,
    );
    const whole = assigned.deploys === deploys ? operation : await this.drafts.withLimits(draft, assigned.deploys);
    const signed = { operation: withNonce(whole, assigned.nonce, draft.now.rules), now: draft.now, replaces: null };
    const hasChosenTip = call.tip !== undefined;
    return this.submissions.submit(
      { transactionId, userId, appId, account, hasChosenTip, sponsor, ...signed },
      metadata,
    );
  }

  private async requireSponsored(sponsor: Sponsor, { operation, now, account }: Draft, userId: string): Promise<void> {
    const rule = ruleAgainstTip(operation.maxPriorityFeePerGas, now.tips.most);
    if (rule !== undefined) throw refusedBy(rule);
    await this.sponsors.requireAllowed(sponsor, { chainId: account.chainId, userId, operation });
  }

  /** A refused send leaves nothing behind. A send without an answer may have been stored: a repeat finds its nonce. */
  private async unlessRefused(
    transactionId: string,
    { chainId, address: sender }: AssignedAccount,
    metadata: EventMetadata,
    submit: () => Promise<Submitted>,
  ): Promise<Submitted> {
    try {
      return await submit();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'dependency_unavailable') throw error;
      // Another process may have carried out the same request meanwhile.
      const known = await this.submissions.find(transactionId);
      if (known) return known;
      await this.nonces.release(transactionId, { chainId, sender }, metadata);
      throw error;
    }
  }
}
