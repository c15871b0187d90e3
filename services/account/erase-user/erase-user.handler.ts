import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { userStream } from '../../../schemas/events/account/user-events.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { eraseUser, userFold } from '../users/domain/user.ts';
import { Logins } from '../login/logins.ts';
import { Erasures } from './erasures.ts';
import { SmartAccountUse } from './smart-account-use.ts';

/** Erases the caller: the history stays provable, but its personal data can never be read again. */
export class EraseUser extends Command<Position> {
  constructor(
    readonly user: UserCaller,
    /** Whether the assets of the smart accounts may be lost. */
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
    private readonly accounts: SmartAccountUse,
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
   * Refuses as long as a smart account is in use, because the key that owns it is destroyed with the user. Skips chains
   * that are no longer served.
   * @throws Refusal account_in_use, and dependency_unavailable if a chain does not answer
   */
  private async requireUnused(userId: string): Promise<void> {
    const { state: user } = await this.transactor.load(userStream(userId), userFold);
    for (const { chainId, address } of user.entity?.smartAccounts ?? []) {
      const use = await this.accounts.useOf({ chainId, address });
      if (use === undefined) continue;
      const detail =
        `the smart account ${address} on chain ${String(chainId)} ${use}, or erase with abandon=true. ` +
        'Tokens (ERC-20, ERC-721) were not looked at: what the account holds of them is lost with its key';
      throw new Refusal('account_in_use', detail);
    }
  }
}
