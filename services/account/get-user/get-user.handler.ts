import { Inject } from '@nestjs/common';
import { publicUser, type PublicUser, type UserEntity } from '../../../schemas/http/user-entity.ts';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { UserEvent } from '../../../schemas/events/user-events.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { PersonalData } from '../../../shared/key-vault/personal-data.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Projections } from '../../../shared/edge/projections.ts';
import { EVENT_STORE, READ_STORE } from '../../../shared/edge/tokens.ts';
import { asDeployed, evolveUser, entityOf, usersModel, type UserDocument } from '../../../shared/read-models/users.ts';
import type { Filter, ReadStore } from '../../../shared/read-store/read-store.ts';

/** Finds the user who has a messenger. */
export class FindUserByMessenger extends Query<UserEntity | PublicUser> {
  constructor(
    readonly messengerId: string,
    readonly callerId: string,
  ) {
    super();
  }
}

/** Finds a user: callers see all of themselves, and of others only what is public. */
export class GetUser extends Query<UserEntity | PublicUser> {
  constructor(
    readonly userId: string,
    readonly callerId: string,
    /** Without it: as it is now. */
    readonly asOf?: AsOf,
  ) {
    super();
  }
}

/** Events after this time, or after this position, have not happened. */
export interface AsOf {
  /** Unix milliseconds. */
  time: number;
  position: number;
}

type StoredUserEvent = UserEvent & StoredEvent;

const { user } = usersModel.collections;

@QueryHandler(GetUser)
export class GetUserHandler implements IQueryHandler<GetUser> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
    @Inject(EVENT_STORE) private readonly eventStore: EventStore,
    private readonly personalData: PersonalData,
  ) {}

  async execute({ userId, callerId, asOf }: GetUser): Promise<UserEntity | PublicUser> {
    if (asOf !== undefined) return answerOf(await this.asOf(userId, asOf), callerId);
    const stored = await this.models.find(usersModel.name, async () =>
      (await this.readStore.getMany(user.name, [userId])).get(userId),
    );
    if (!stored) throw new Refusal('user_not_found', 'no user has this id');
    return answerOf(user.document.parse(stored.document), callerId);
  }

  /** The user as it was then, folded from the event store. */
  private async asOf(userId: string, { time, position }: AsOf): Promise<UserDocument> {
    const events = await this.eventStore.read(`user-${userId}`);
    const newest = events.at(-1);
    if (newest?.type === 'UserErased') throw new Refusal('user_erased', 'this user was erased');
    const before = events.filter((event) => event.time <= time && event.position <= position);
    let then: UserDocument | undefined;
    for (const event of await this.personalData.open(before)) then = evolveUser(then, event as StoredUserEvent, event);
    if (!then) throw new Refusal('user_not_found', 'no user had this id then');
    const stored = (await this.readStore.getMany(user.name, [userId])).get(userId);
    if (!stored) return then;
    const { deployments } = user.document.parse(stored.document);
    return asDeployed(
      then,
      deployments.filter((one) => Date.parse(one.time) <= time && one.position <= position),
    );
  }
}

const answerOf = (found: UserDocument, callerId: string): UserEntity | PublicUser => {
  if (found.erasedAt !== null) throw new Refusal('user_erased', 'this user was erased');
  return found.id === callerId ? entityOf(found) : publicUser.parse(found);
};

@QueryHandler(FindUserByMessenger)
export class FindUserByMessengerHandler implements IQueryHandler<FindUserByMessenger> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
  ) {}

  async execute({ messengerId, callerId }: FindUserByMessenger): Promise<UserEntity | PublicUser> {
    const first = async (filter: Filter) =>
      (await this.readStore.find(user.name, { filter, sort: [['messengerSince', 'asc']], limit: 1 }))[0];
    const stored = await this.models.find(
      usersModel.name,
      async () => (await first({ messengerId, messengerVerified: true })) ?? (await first({ messengerId })),
    );
    if (!stored) throw new Refusal('user_not_found', 'no user has this messenger');
    return answerOf(user.document.parse(stored.document), callerId);
  }
}
