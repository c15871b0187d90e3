import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { identityStream } from '../../../../schemas/events/account/identity-events.ts';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { UserCaller } from '../../../../shared/auth/caller.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Transactor, type Transacted } from '../../../../shared/event-store/transactions/transact.ts';
import { identityFold } from '../../users/domain/identity.ts';
import { unlinkIdentity, userFold, type User } from '../../users/domain/user.ts';
import { Logins } from '../logins.ts';
import { Unlinkings } from './unlinkings.ts';

/** Takes an identity from its user: it logs nobody in any more, and whoever proves it next may have it. */
export class UnlinkIdentity extends Command<Position> {
  constructor(
    readonly user: UserCaller,
    readonly identityId: string,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

/**
 * Decides on the user's stream, then releases the identity, then ends the sessions that began with it. After a crash a
 * repeat or the process manager goes on where it ended; a login releases an identity too that was not released.
 */
@CommandHandler(UnlinkIdentity)
export class UnlinkIdentityHandler implements ICommandHandler<UnlinkIdentity> {
  constructor(
    private readonly transactor: Transactor,
    private readonly logins: Logins,
    private readonly unlinkings: Unlinkings,
  ) {}

  async execute({ user: caller, identityId, metadata }: UnlinkIdentity): Promise<Position> {
    const { userId } = caller;
    await this.logins.requireMayChangeLogins(caller);
    const user = await this.unlink(userId, identityId, metadata);
    const claim = user.state.unlinked[identityId];
    if (claim === undefined) throw new Error('the claim that was given up is missing');
    return this.unlinkings.complete({ userId, identityId, claim, position: user.position }, metadata);
  }

  private async unlink(userId: string, identityId: string, metadata: EventMetadata): Promise<Transacted<User>> {
    for (;;) {
      const { state: holder } = await this.transactor.load(identityStream(identityId), identityFold);
      const claim = holder.userId === userId ? holder.claims : 0;
      const user = await this.transactor.transact({
        stream: userStream(userId),
        fold: userFold,
        metadata,
        decide: (before) => unlinkIdentity(before, { userId, identityId, claim }),
      });
      const isLinked = user.state.entity?.identities.some(({ id }) => id === identityId);
      if (!isLinked) return user;
    }
  }
}
