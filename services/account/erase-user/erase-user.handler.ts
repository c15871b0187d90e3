import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { userStream } from '../../../schemas/events/user-events.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { eraseUser, userFold } from '../domain/user.ts';
import { AccountNonces } from '../edge/account-nonces.ts';
import { LATEST_STATES, type LatestStates } from '../edge/latest-states.ts';
import { Logins } from '../edge/logins.ts';
import { Erasures } from './erasures.ts';

/** Erases the caller: the history stays provable, and nobody can read its personal data any more. */
export class EraseUser extends Command<Position> {
  constructor(
    readonly user: UserCaller,
    /** Whether what the smart accounts hold may be lost. */
    readonly abandon: boolean,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(EraseUser)
export class EraseUserHandler implements ICommandHandler<EraseUser> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly erasures: Erasures,
    private readonly nonces: AccountNonces,
    @Inject(LATEST_STATES) private readonly chains: LatestStates,
  ) {}

  async execute({ user, abandon, metadata }: EraseUser): Promise<Position> {
    const { userId } = user;
    await this.logins.requireMayChangeLogins(user);
    if (!abandon) await this.requireUnused(userId);
    const { position } = await this.transactor.transact({
      stream: userStream(userId),
      fold: userFold,
      metadata,
      decide: (before) => eraseUser(before, userId),
    });
    await this.erasures.complete(userId, metadata);
    return position;
  }

  /**
   * The key that owns the smart accounts is destroyed with the user. A chain that is not served any more is not asked.
   * @throws Refusal account_in_use, and dependency_unavailable where a chain does not answer
   */
  private async requireUnused(userId: string): Promise<void> {
    const { state: user } = await this.transactor.load(userStream(userId), userFold);
    for (const { chainId, address } of user.entity?.smartAccounts ?? []) {
      const use = (await this.openSend(chainId, address)) ?? (await this.useOnChain(chainId, address));
      if (use === undefined) continue;
      const detail =
        `the smart account ${address} on chain ${String(chainId)} ${use}, or erase with abandon=true. ` +
        'Tokens (ERC-20, ERC-721) were not looked at: what the account holds of them is lost with its key';
      throw new Refusal('account_in_use', detail);
    }
  }

  private async openSend(chainId: number, sender: string): Promise<string | undefined> {
    const { transactions } = await this.nonces.inUse({ chainId, sender });
    const open = transactions.find(({ status }) => status === 'submitted');
    return open && `has a send under way (${open.submission.transactionId}): wait until it is included, or cancel it`;
  }

  private async useOnChain(chainId: number, address: string): Promise<string | undefined> {
    try {
      const account = await this.chains.get(chainId)?.account(address);
      const isInUse = account !== undefined && (account.hasCode || account.wei > 0n);
      return isInUse ? 'is deployed or holds balance: move out what it holds' : undefined;
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      throw unavailable(`chain ${String(chainId)} cannot be asked what a smart account holds`, error);
    }
  }
}
