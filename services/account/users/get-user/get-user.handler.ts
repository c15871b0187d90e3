import { Inject } from '@nestjs/common';
import { publicUser, type PublicUser, type UserEntity } from '../../../../schemas/http/account/user-entity.ts';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { Projections } from '../../../../shared/edge/answers/projections.ts';
import { READ_STORE } from '../../../../shared/edge/tokens.ts';
import { asDeployed, entityOf, usersModel, type UserDocument } from '../../../../shared/read-models/account/users.ts';
import { QueryBudget } from '../../../../shared/read-store/query-budget.ts';
import type { Filter, ReadStore } from '../../../../shared/read-store/read-store.ts';
import { UserSnapshots } from './user-snapshots.ts';

/** Finds the user who has a messenger. */
export class FindUserByMessenger extends Query<UserEntity | PublicUser> {
  constructor(
    readonly messengerId: string,
    readonly callerId: string,
  ) {
    super();
  }
}

/** Finds a user: callers see all of themselves, and only the public members of others. */
export class GetUser extends Query<UserEntity | PublicUser> {
  constructor(
    readonly userId: string,
    readonly callerId: string,
    /** The position as of which callers see themselves; default: now. */
    readonly asked?: { asOf: Position; ended: AbortSignal },
  ) {
    super();
  }
}

const { user } = usersModel.collections;

@QueryHandler(GetUser)
export class GetUserHandler implements IQueryHandler<GetUser> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: Projections,
    private readonly snapshots: UserSnapshots,
  ) {}

  async execute({ userId, callerId, asked }: GetUser): Promise<UserEntity | PublicUser> {
    if (asked && userId === callerId) return answerOf(await this.asOf(userId, asked), callerId);
    const stored = await this.models.find(usersModel.name, () => this.stored(userId));
    if (!stored) throw new Refusal('user_not_found', 'no user has this id');
    return answerOf(stored, callerId);
  }

  /** Returns the user as of that position, folded from the event store. */
  private async asOf(userId: string, { asOf, ended }: NonNullable<GetUser['asked']>): Promise<UserDocument> {
    const then = await this.snapshots.at(userId, asOf, new QueryBudget({ caller: userId, signal: ended }));
    if (!then) throw new Refusal('user_not_found', 'no user had this id then');
    const { deployments = [] } = (await this.stored(userId)) ?? {};
    return asDeployed(then, deployments, asOf);
  }

  private async stored(userId: string): Promise<UserDocument | undefined> {
    const stored = (await this.readStore.getMany(user.name, [userId])).get(userId);
    return stored && user.document.parse(stored.document);
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
