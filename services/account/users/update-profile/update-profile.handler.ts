import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { type ProfileChanges, userStream } from '../../../../schemas/events/account/user-events.ts';
import type { UserEntity } from '../../../../schemas/http/account/user-entity.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { READ_STORE, SETTINGS } from '../../../../shared/edge/tokens.ts';
import { readProfile } from '../domain/profile.ts';
import { existing, updateProfile, userFold } from '../domain/user.ts';
import { answeredUser } from '../answered-user.ts';

/** Changes the given members; `null` or an empty text clears a member. */
export class UpdateProfile extends Command<{ user: UserEntity; position: Position }> {
  constructor(
    readonly userId: string,
    readonly changes: ProfileChanges,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(UpdateProfile)
export class UpdateProfileHandler implements ICommandHandler<UpdateProfile> {
  constructor(
    private readonly transactor: Transactor,
    @Inject(READ_STORE) private readonly readStore: Pick<ReadStore, 'getMany'>,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'NODE_ENV'>,
  ) {}

  async execute({ userId, changes, metadata }: UpdateProfile) {
    const profile = readProfile(changes, { allowLocalHttp: this.settings.NODE_ENV !== 'production' });
    const { state, position } = await this.transactor.transact({
      stream: userStream(userId),
      fold: userFold,
      metadata,
      decide: (user) => updateProfile(user, userId, profile),
    });
    return { user: await answeredUser(this.readStore, existing(state)), position };
  }
}
