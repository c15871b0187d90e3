import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { readAccountCalls } from '../../../../shared/chain/identifiers/account-call.ts';
import { idOfReplacement, type Submission } from '../../transactions/domain/transaction.ts';
import type { AccountNonces } from '../../transactions/account-nonces.ts';
import type { OperationDrafts } from '../../transactions/operation-drafts.ts';
import type { ServedChain } from '../../served-chains/served-chains.ts';
import type { Sponsor, Sponsors } from '../../sponsorship/sponsors.ts';
import type { Submissions } from '../../sending/submissions.ts';
import type { MempoolEntry } from './mempool.ts';

/**
 * The result of signing an operation again. `refused now`: a later attempt may succeed. `never`: no attempt can
 * succeed, for example because a client signed the operation, its user was erased, its app was revoked, or it was
 * signed again before and that operation was dropped.
 */
export type ResignOutcome = 'done' | 'refused now' | 'never';

/** Signs operations again that cannot be included as they are. */
export interface Resigner {
  /**
   * Submits a replacement of an operation, with the same nonce; it enters the mempool like any other operation. The
   * replacement deploys the account, or no longer deploys it, or has a paymaster signature that expires later. With
   * `raisesTip` it offers the tip that the chain asks for now, if the policy of the paying app allows the cost.
   */
  resign: (
    entry: Pick<MempoolEntry, 'id' | 'operation' | 'transaction'>,
    change: { deploys: boolean; raisesTip?: boolean },
  ) => Promise<ResignOutcome>;
}

/**
 * A sponsorship policy without limits: the app's own policy already admitted the original operation, which has the same fees.
 * The paymaster's deposit still limits the replacement.
 */
const WITHOUT_LIMITS = { dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: true };

/** Codes of refusals that may pass: the paymaster's deposit is too low, or the chain does not answer. */
const MAY_PASS: ReadonlySet<string> = new Set(['sponsorship_refused', 'dependency_unavailable']);

/** Signs operations again with the users' keys in the key vault. */
export class OperationResigner implements Resigner {
  constructor(
    private readonly chain: ServedChain,
    private readonly drafts: OperationDrafts,
    private readonly nonces: AccountNonces,
    private readonly sponsors: Sponsors,
    private readonly submissions: Submissions,
    private readonly metadata: () => EventMetadata,
  ) {}

  async resign(...[entry, { deploys, raisesTip = false }]: Parameters<Resigner['resign']>): Promise<ResignOutcome> {
    const { chain } = this;
    const { submission } = entry.transaction;
    const { userId, appId, chainId, sender } = submission;
    if (userId === null) return 'never';
    const transactionId = idOfReplacement(entry.id, 'signed anew');
    const known = await this.submissions.find(transactionId);
    // A dropped replacement can never be included, and its nonce may belong to another operation by now.
    if (known) return known.transaction.status === 'dropped' ? 'never' : 'done';
    const metadata = this.metadata();
    try {
      const account = await this.drafts.accountOf(userId, chainId);
      const now = await chain.askAnew();
      const operation = await this.operationOf(entry, { deploys, raisesTip, submission });
      const sponsor = await this.sponsorOf(submission, raisesTip);
      await this.nonces.reassign(transactionId, { chainId, sender, nonce: operation.nonce, deploys }, metadata);
      // If the clock is set back, and the replacement expired first, the operation that it replaces would go on.
      const { hasChosenTip = true, validUntil: validAtLeastUntil } = submission;
      const signed = { operation, hasChosenTip, sponsor, now, replaces: entry.id, validAtLeastUntil };
      await this.submissions.submit({ transactionId, userId, appId, account, ...signed }, metadata);
      return 'done';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return MAY_PASS.has(error.code) ? 'refused now' : 'never';
    }
  }

  /**
   * Returns the operation with or without the factory that deploys the account, and perhaps with a higher tip. The factory and
   * the tip take new gas limits.
   */
  private async operationOf(
    { operation }: Pick<MempoolEntry, 'operation'>,
    change: { deploys: boolean; raisesTip: boolean; submission: Submission },
  ): Promise<MempoolEntry['operation']> {
    const { deploys, raisesTip, submission } = change;
    const { userId, chainId } = submission;
    if (!raisesTip && deploys === (operation.factory !== undefined)) return operation;
    if (!raisesTip && !deploys) return { ...operation, factory: undefined };
    const account = await this.drafts.accountOf(userId ?? '', chainId);
    const { paymaster, maxFeePerGas, maxPriorityFeePerGas, nonce } = operation;
    const call = readAccountCalls(operation.callData)?.[0];
    const tip = raisesTip ? undefined : maxPriorityFeePerGas;
    const terms = { call, tip, paymaster: paymaster?.address, estimator: this.chain.estimator };
    const draft = await this.drafts.draft(this.chain, account, terms);
    const limited = { ...(await this.drafts.withLimits(draft, deploys)), nonce };
    return raisesTip ? limited : { ...limited, maxFeePerGas, maxPriorityFeePerGas };
  }

  private async sponsorOf(
    { sponsor, appId, payingAppId = appId, operation }: Submission,
    raisesTip: boolean,
  ): Promise<Sponsor | undefined> {
    if (!sponsor || operation.paymaster === null) return undefined;
    const app = await this.sponsors.payingApp(undefined, payingAppId);
    const { chain } = this;
    if (raisesTip) {
      const calls = readAccountCalls(operation.callData) ?? [];
      return this.sponsors.sponsorOf(app, { chain, sessionAppId: appId, calls });
    }
    return { app, policy: WITHOUT_LIMITS, chain, paymaster: operation.paymaster };
  }
}
