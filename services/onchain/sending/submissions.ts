import type { AssignedAccount } from '../../../schemas/events/account/user-events.ts';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { transactionStream } from '../../../schemas/events/onchain/transaction-events.ts';
import type { SentTransaction } from '../../../schemas/http/onchain/onchain-routes.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { submit, transactionFold, type Transaction } from '../transactions/domain/transaction.ts';
import { maxCostOf, storedOperation, type UserOperation } from '../operations/domain/user-operation.ts';
import type { OperationSigner } from './operation-signer.ts';
import type { ChainNow } from '../served-chains/served-chains.ts';
import type { Sponsor, Sponsors } from '../sponsorship/sponsors.ts';

/**
 * How long the paymaster's signature is valid, from the later of our clock and the time of the head. A send is bundled within
 * that time. An operation signed over `/rpc` may never be sent, and meanwhile its maximum cost stays reserved.
 */
export const SIGNED_FOR_SECONDS = { send: 600, rpc: 120 } as const;

/** An operation to sign and submit for a user. */
export interface ToSubmit {
  transactionId: string;
  userId: string;
  /** The app of the sending session. */
  appId: string;
  account: AssignedAccount;
  /** Complete with nonce and limits. */
  operation: UserOperation;
  /** Whether the caller chose its tip. */
  hasChosenTip?: boolean;
  /** The paying app; `undefined` if the account pays. */
  sponsor: Sponsor | undefined;
  now: ChainNow;
  /** The transaction whose nonce it takes. */
  replaces: string | null;
  /** The paymaster's signature is valid no less long than this: until when that of the replaced transaction is. */
  validAtLeastUntil?: string | null;
}

export interface Submitted {
  transaction: Transaction;
  position: Position;
}

/** Signs operations for users and stores them. Stored operations are carried out. */
export class Submissions {
  constructor(
    private readonly transactor: Transactor,
    private readonly signer: OperationSigner,
    private readonly sponsors: Sponsors,
  ) {}

  async find(transactionId: string): Promise<Submitted | undefined> {
    const { state, position } = await this.transactor.load(transactionStream(transactionId), transactionFold);
    return state && { transaction: state, position };
  }

  /** Signs and stores an operation; nobody sees the signature before it is stored. @throws Refusal sponsorship_refused, user_erased */
  async submit(toSubmit: ToSubmit, metadata: EventMetadata): Promise<Submitted> {
    const { transactionId, userId, appId, account, hasChosenTip = false, sponsor, now, replaces } = toSubmit;
    const { chainId, address: sender, entryPoint } = account;
    const { validAtLeastUntil } = toSubmit;
    const validUntil = signedUntil(this.transactor.clock, now.head, SIGNED_FOR_SECONDS.send, validAtLeastUntil);
    const sponsored = await this.sponsored(toSubmit, validUntil);
    const { operation, userOpHash } = await this.signer.sign(sponsored, account, userId);
    const { nonce } = operation;
    const maxCostWei = maxCostOf(operation);
    const headBlock = now.head.number;
    if (sponsor) {
      const signature = { chainId, sender, nonce, transactionId, userOpHash, userId, maxCostWei, headBlock };
      await this.sponsors.reserve(sponsor, { ...signature, validUntilMs: validUntil * 1_000 });
    }
    const { state, position } = await this.transactor.transact({
      stream: transactionStream(transactionId),
      fold: transactionFold,
      metadata,
      decide: (known) =>
        submit(known, {
          transactionId,
          userId,
          appId,
          ...(sponsor && sponsor.app.id !== appId && { payingAppId: sponsor.app.id }),
          chainId,
          sender,
          nonce: String(nonce),
          userOpHash,
          entryPoint,
          operation: storedOperation(operation),
          sponsor: sponsor !== undefined,
          maxCostWei: String(maxCostWei),
          hasChosenTip,
          validUntil: sponsor ? toIso(validUntil * 1_000) : null,
          headBlock,
          replaces,
        }),
    });
    if (!state) throw new Error('the transaction that was submitted is missing');
    return { transaction: state, position };
  }

  private async sponsored({ operation, sponsor, account }: ToSubmit, validUntil: number): Promise<UserOperation> {
    const { paymaster } = operation;
    if (!sponsor || !paymaster) return operation;
    const { chainId } = account;
    const data = await this.signer.sponsor({ ...operation, paymaster }, { chainId, validUntil });
    return { ...operation, paymaster: { ...paymaster, data } };
  }
}

/** Returns until when a paymaster's signature made now is valid, in Unix seconds. @param atLeast a time, in ISO form */
export const signedUntil = (
  clock: Pick<Clock, 'now'>,
  head: Pick<ChainNow['head'], 'timestamp'>,
  seconds: number,
  atLeast: string | null = null,
): number => {
  const now = Math.max(Math.floor(clock.now() / 1_000), head.timestamp);
  return Math.max(now + seconds, atLeast === null ? 0 : Date.parse(atLeast) / 1_000);
};

/** Returns the answer for an accepted transaction. */
export const sentTransactionOf = ({ submission, submittedAt }: Transaction): SentTransaction => ({
  id: submission.transactionId,
  userOpHash: submission.userOpHash,
  sender: submission.sender,
  chainId: submission.chainId,
  entryPoint: submission.entryPoint,
  nonce: submission.nonce,
  sponsor: submission.sponsor,
  status: 'submitted',
  createdAt: toIso(submittedAt),
});
