import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { userStream } from '../../../schemas/events/user-events.ts';
import type { UserCaller } from '../../../shared/auth/caller.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { eraseUser, userFold } from '../domain/user.ts';
import { Logins } from '../edge/logins.ts';
import { Erasures } from './erasures.ts';

/** Erases the caller: the history stays provable, and nobody can read its personal data any more. */
export class EraseUser extends Command<Position> {
  constructor(
    readonly user: UserCaller,
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
  ) {}

  async execute({ user, metadata }: EraseUser): Promise<Position> {
    const { userId } = user;
    await this.logins.requireRecentLogin(user);
    const { position } = await this.transactor.transact({
      stream: userStream(userId),
      fold: userFold,
      metadata,
      decide: (before) => eraseUser(before, userId),
    });
    await this.erasures.complete(userId, metadata);
    return position;
  }
}
