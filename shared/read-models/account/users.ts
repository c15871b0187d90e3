import { z } from 'zod';
import { transactionEvents } from '../../../schemas/events/onchain/transaction-events.ts';
import { userEvents, type MessengerChanges, type UserEvent } from '../../../schemas/events/account/user-events.ts';
import { linkedIdentity, userEntity, type UserEntity } from '../../../schemas/http/account/user-entity.ts';
import { ofProfile } from '../../../schemas/profile.ts';
import { chainId, isoTime, keptLoginMethod } from '../../../schemas/values.ts';
import type { Position, StoredEvent } from '../../event-store/event-store.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

/** By user id: the user as HTTP answers it, and the members that find it. */
const userDocument = userEntity.extend({
  identities: z.array(linkedIdentity.extend({ method: keptLoginMethod })),
  /** The position at which the user got this `messengerId`; 0 without one. */
  messengerSince: z.int().nonnegative(),
  /** The operations that deployed smart accounts of the user, and the position since which each did not any more. */
  deployments: z.array(
    z.object({ chainId, transactionId: z.string(), position: z.int(), until: z.int().nullable(), time: isoTime }),
  ),
  erasedAt: isoTime.nullable(),
});
export type UserDocument = z.infer<typeof userDocument>;

/** Returns the part of the document that the user receives. */
export const entityOf = ({
  messengerSince: _since,
  deployments: _deployments,
  erasedAt: _at,
  ...entity
}: UserDocument): UserEntity => entity;

/** The transaction events that decide whether a smart account is deployed. */
const { TxIncluded, TxReverted, TxReorged } = transactionEvents;

/** Users, by user id. */
export const usersModel = readModel({
  name: 'users-v5',
  collections: {
    user: {
      name: 'users-v5',
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
        return { user: user && withoutDeployment(user, event.data.transactionId, event.position) };
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
  const ended = endedAt(user.deployments, position, (other) => other.chainId === chain);
  return asDeployed(user, [...ended, { chainId: chain, transactionId, position, until: null, time: toIso(time) }]);
};

const withoutDeployment = (user: UserDocument, transactionId: string, position: Position): UserDocument =>
  asDeployed(
    user,
    endedAt(user.deployments, position, (deployment) => deployment.transactionId === transactionId),
  );

/** Returns deployments of which the matching ones are no longer such since a position. */
const endedAt = (
  deployments: readonly Deployment[],
  position: Position,
  matches: (deployment: Deployment) => boolean,
): Deployment[] => deployments.map((one) => (one.until === null && matches(one) ? { ...one, until: position } : one));

/**
 * Returns a user whose smart accounts are deployed by exactly these operations: the user's own stream does not have
 * them. @param asOf the position of the state; default: now
 */
export const asDeployed = (
  user: UserDocument,
  deployments: readonly Deployment[],
  asOf: Position = Infinity,
): UserDocument => {
  const holding = deployments.filter(({ position, until }) => position <= asOf && (until === null || until > asOf));
  const isDeployed = (chain: number) => holding.some((deployment) => deployment.chainId === chain);
  return {
    ...user,
    deployments: [...deployments],
    smartAccounts: user.smartAccounts.map((account) => ({ ...account, deployed: isDeployed(account.chainId) })),
  };
};

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

/** A messenger is verified only if the user has logged in with it; what a client states about it is a mere claim. */
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

/** Completes a user who was folded with sealed members, once they are opened: sealed texts cannot be compared. */
export const withMessengerOpened = (user: UserDocument): UserDocument => withMessenger(user, {}, 0);

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
