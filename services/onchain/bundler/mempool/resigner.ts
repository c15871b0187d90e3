import type { EventMetadata } from '../../../schemas/events/event.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { callsOf } from '../domain/account-calls.ts';
import { idOfReplacement, type Submission } from '../domain/transaction.ts';
import type { AccountNonces } from '../edge/account-nonces.ts';
import type { OperationDrafts } from '../edge/operation-drafts.ts';
import type { ServedChain } from '../edge/served-chains.ts';
import type { Sponsor, Sponsors } from '../edge/sponsors.ts';
import type { Submissions } from '../edge/submissions.ts';
import type { PooledOperation } from './operation-pool.ts';

/** Whether there is a replacement now; `never` of an operation that came signed, of a user who was erased, of a revoked app. */
export type SigningAnew = 'done' | 'refused now' | 'never';

/** Signs operations anew that cannot be included as they are. */
export interface Replacements {
  /**
   * Stores an operation of the same nonce, which is then taken as any other: one that deploys the account, or does not any more,
   * or that the paymaster signs for later.
   */
  signAnew: (
    one: Pick<PooledOperation, 'id' | 'operation' | 'transaction'>,
    change: { deploys: boolean },
  ) => Promise<SigningAnew>;
}

/** The policy decided when the first one was signed. */
const WITHOUT_LIMITS = { dayWei: null, userDayWei: null, operationWei: null, allow: [], anySession: true };

/** The paymaster's deposit is too low, or the chain does not answer. */
const MAY_PASS: ReadonlySet<string> = new Set(['sponsorship_refused', 'dependency_unavailable']);

/** Signs operations anew with keys of the vault. */
export class SignedAnew implements Replacements {
  constructor(
    private readonly chain: ServedChain,
    private readonly drafts: OperationDrafts,
    private readonly nonces: AccountNonces,
    private readonly sponsors: Sponsors,
    private readonly submissions: Submissions,
    private readonly metadata: () => EventMetadata,
  ) {}

  async signAnew(...[one, { deploys }]: Parameters<Replacements['signAnew']>): Promise<SigningAnew> {
    const { chain } = this;
    const { submission } = one.transaction;
    const { userId, appId, chainId, sender } = submission;
    if (userId === null) return 'never';
    const transactionId = idOfReplacement(one.id, 'signed anew');
    const known = await this.submissions.find(transactionId);
    // Where that one can never be included, its nonce may be another's.
    if (known) return known.transaction.status === 'dropped' ? 'never' : 'done';
    const metadata = this.metadata();
    try {
      const account = await this.drafts.accountOf(userId, chainId);
      const sponsor = await this.sponsorOf(submission);
      const now = await chain.askAnew();
      const operation = await this.operationOf(one, { deploys, submission });
      await this.nonces.take(transactionId, { chainId, sender, nonce: operation.nonce, deploys }, metadata);
      const toSubmit = { transactionId, userId, appId, account, operation, sponsor, now, replaces: one.id };
      await this.submissions.submit(toSubmit, metadata);
      return 'done';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return MAY_PASS.has(error.code) ? 'refused now' : 'never';
    }
  }

  /** The same operation; with the factory it takes more gas. */
  private async operationOf(
    { operation }: Pick<PooledOperation, 'operation'>,
    { deploys, submission: { userId, chainId } }: { deploys: boolean; submission: Submission },
  ): Promise<PooledOperation['operation']> {
    if (deploys === (operation.factory !== undefined)) return operation;
    if (!deploys) return { ...operation, factory: undefined };
    const account = await this.drafts.accountOf(userId ?? '', chainId);
    const { paymaster, maxFeePerGas, maxPriorityFeePerGas, nonce } = operation;
    const call = callsOf(operation.callData)?.[0];
    const terms = { call, tip: maxPriorityFeePerGas, paymaster: paymaster?.address, estimator: this.chain.estimator };
    const draft = await this.drafts.draft(this.chain, account, terms);
    const { factory, ...limits } = await this.drafts.withLimits(draft, true);
    return { ...limits, factory, nonce, maxFeePerGas, maxPriorityFeePerGas };
  }

  private async sponsorOf({
    sponsor,
    appId,
    payingAppId = appId,
    operation,
  }: Submission): Promise<Sponsor | undefined> {
    if (!sponsor || operation.paymaster === null) return undefined;
    const app = await this.sponsors.payingApp(undefined, payingAppId);
    return { app, policy: WITHOUT_LIMITS, chain: this.chain, paymaster: operation.paymaster };
  }
}
