import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../../schemas/events/event.ts';
import { userStream } from '../../../../schemas/events/account/user-events.ts';
import type { UserEntity } from '../../../../schemas/http/account/user-entity.ts';
import type { MessengerBody } from '../../../../schemas/http/account/user-routes.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { invalid } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { READ_STORE, SETTINGS } from '../../../../shared/edge/tokens.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { readMessengerTexts } from '../domain/profile.ts';
import { existing, updateMessenger, userFold } from '../domain/user.ts';
import { answeredUser } from '../answered-user.ts';

/** Changes the given messenger fields; `null` or an empty text clears a field, except the id. */
export class UpdateMessenger extends Command<{ user: UserEntity; position: Position }> {
  constructor(
    readonly userId: string,
    readonly changes: MessengerBody,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(UpdateMessenger)
export class UpdateMessengerHandler implements ICommandHandler<UpdateMessenger> {
  constructor(
    private readonly transactor: Transactor,
    @Inject(READ_STORE) private readonly readStore: Pick<ReadStore, 'getMany'>,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'NODE_ENV'>,
  ) {}

  async execute({ userId, changes, metadata }: UpdateMessenger) {
    const { messengerAuthDate, messengerVerified, ...texts } = changes;
    const update = {
      ...readMessengerTexts(texts, { allowLocalHttp: this.settings.NODE_ENV !== 'production' }),
      ...(messengerAuthDate !== undefined && {
        messengerAuthDate: messengerAuthDate === null ? null : toIso(Date.parse(messengerAuthDate)),
      }),
      ...(messengerVerified !== undefined && { messengerVerified }),
    };
    if (update.messengerId === null) throw invalid({ path: 'messengerId', message: 'is empty' });
    const { state, position } = await this.transactor.transact({
      stream: userStream(userId),
      fold: userFold,
      metadata,
      decide: (user) => updateMessenger(user, userId, update),
    });
    return { user: await answeredUser(this.readStore, existing(state)), position };
  }
}
