import { z } from 'zod';
import { transactionEvents } from '../../schemas/events/transaction-events.ts';
import { userEvents, type MessengerChanges, type UserEvent } from '../../schemas/events/user-events.ts';
import { userEntity, type UserEntity } from '../../schemas/http/user-entity.ts';
import { ofProfile } from '../../schemas/profile.ts';
import { chainId, isoTime } from '../../schemas/values.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

/** By user id: what HTTP answers of a user, and what finds one. */
const userDocument = userEntity.extend({
  /** The position since when the user has this `messengerId`; 0 without one. */
  messengerSince: z.int().nonnegative(),
  /** The operations that deployed the smart accounts which are `deployed`. */
  deployments: z.array(z.object({ chainId, transactionId: z.string(), position: z.int(), time: isoTime })),
  erasedAt: isoTime.nullable(),
});
export type UserDocument = z.infer<typeof userDocument>;

/** What the user is answered. */
export const entityOf = ({
  messengerSince: _since,
  deployments: _deployments,
  erasedAt: _at,
  ...entity
}: UserDocument): UserEntity => entity;

/** The events of transactions that tell whether a smart account is deployed. */
const { TxIncluded, TxReverted, TxReorged } = transactionEvents;

/** Users, by user id. */
export const usersModel = readModel({
  name: 'users-v3',
  collections: {
    user: {
      name: 'users-v3',
      document: userDocument,
      indexes: [['messengerId', 'messengerVerified', 'messengerSince']],
    },
  },
  events: { ...userEvents, TxIncluded, TxReverted, TxReorged },
  touches: ({ data }) => (data.userId === null ? {} : { user: data.userId }),
  evolve: ({ user }, event) => {
    switch (event.type) {
      case 'TxIncluded':
      case 'TxReverted':
        return { user: user && event.data.deployed ? withDeployment(user, event.data, event) : user };
      case 'TxReorged':
        return { user: user && withoutDeployment(user, event.data.transactionId) };
      default:
        return { user: evolveUser(user, event, event) };
    }
  },
});

type Deployment = UserDocument['deployments'][number];

const withDeployment = (
  user: UserDocument,
  { chainId: chain, transactionId }: Pick<Deployment, 'chainId' | 'transactionId'>,
  { position, time }: Pick<StoredEvent, 'position' | 'time'>,
): UserDocument => {
  if (!user.smartAccounts.some((account) => account.chainId === chain)) return user;
  const others = user.deployments.filter((other) => other.chainId !== chain);
  return asDeployed(user, [...others, { chainId: chain, transactionId, position, time: toIso(time) }]);
};

const withoutDeployment = (user: UserDocument, transactionId: string): UserDocument =>
  asDeployed(
    user,
    user.deployments.filter((deployment) => deployment.transactionId !== transactionId),
  );

/** Returns a user whose smart accounts are deployed by these and no others: the user's own stream does not tell. */
export const asDeployed = (user: UserDocument, deployments: readonly Deployment[]): UserDocument => ({
  ...user,
  deployments: [...deployments],
  smartAccounts: user.smartAccounts.map((account) => ({
    ...account,
    deployed: deployments.some((deployment) => deployment.chainId === account.chainId),
  })),
});

/**
 * Returns a user after one more event of its stream, for the read model and for the answer of a command.
 * @param user `undefined` before the first event
 */
export const evolveUser = (
  user: UserDocument | undefined,
  { type, data }: UserEvent,
  { time, revision, position = 0 }: Pick<StoredEvent, 'time' | 'revision'> & { position?: number },
): UserDocument => {
  const at = toIso(time);
  const known = user ?? newUser(data.userId, at);
  switch (type) {
    case 'UserRegistered':
      return { ...known, createdAt: at, updatedAt: at, revision };
    case 'IdentityLinked': {
      const { identityId: id, method, label } = data;
      const identities = [...known.identities, { id, method, label, linkedAt: at }];
      const linked = { ...known, identities, updatedAt: at, revision };
      return method === 'messenger' ? withMessenger(linked, { messengerId: label }, position) : linked;
    }
    case 'IdentityUnlinked': {
      const identities = known.identities.filter(({ id }) => id !== data.identityId);
      return withMessenger({ ...known, identities, updatedAt: at, revision }, {}, position);
    }
    case 'UserLoggedIn':
      return { ...known, revision };
    case 'ProfileUpdated':
      return { ...known, ...data.changes, updatedAt: at, revision };
    case 'MessengerUpdated':
      return withMessenger({ ...known, updatedAt: at, revision }, data.changes, position);
    case 'SmartAccountAssigned': {
      const { userId: _userId, ...account } = data;
      const smartAccounts = [...known.smartAccounts, { ...account, deployed: false }];
      return { ...known, smartAccounts, updatedAt: at, revision };
    }
    case 'UserErased':
      return { ...newUser(data.userId, known.createdAt), updatedAt: at, erasedAt: at, revision };
  }
};

/** A messenger is verified if it is the user's by a login; what a client says of that is only a claim. */
const withMessenger = (
  { messengerSince, ...known }: UserDocument,
  changes: MessengerChanges,
  position: number,
): UserDocument => {
  const user = { ...known, ...changes };
  const { messengerId, identities } = user;
  const isLinked = identities.some(({ method, label }) => method === 'messenger' && label === messengerId);
  const isClaimed = user.messengerVerified !== null;
  return {
    ...user,
    messengerVerified: isLinked || (isClaimed ? false : null),
    messengerSince: messengerId === null ? 0 : messengerId === known.messengerId ? messengerSince : position,
  };
};

const NO_PROFILE = ofProfile(() => null);

const newUser = (id: string, at: string): Omit<UserDocument, 'revision'> => ({
  id,
  ...NO_PROFILE,
  messengerId: null,
  messengerUsername: null,
  messengerFirstName: null,
  messengerLastName: null,
  messengerAvatarUrl: null,
  messengerAuthDate: null,
  messengerVerified: null,
  messengerSince: 0,
  identities: [],
  smartAccounts: [],
  deployments: [],
  createdAt: at,
  updatedAt: at,
  erasedAt: null,
});
