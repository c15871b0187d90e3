import type { EventType } from '../../../schemas/events/catalogue.ts';
import { contractKey, topics, type Topic } from '../../../schemas/topics.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** Where an event goes: events of one key keep their order. */
export interface Address {
  topic: Topic;
  key: string;
}

const ofUser = ({ stream }: StoredEvent): Address => ({
  topic: topics.users,
  key: stream.slice('user-'.length).toLowerCase(),
});
const ofContract = ({ data }: StoredEvent): Address => ({
  topic: topics.contracts,
  key: contractKey(data['chainId'] as number, data['contractAddress'] as string),
});
/** Reads the stream's name, not the data: this is the hot path. */
const ofChainEvent = ({ stream }: StoredEvent): Address => {
  const [, chainId = '', contract = ''] = stream.split('-');
  return { topic: topics.chainEvents, key: contractKey(Number(chainId), contract) };
};

/** What leaves the event store. Sessions, challenges, identities, apps and progress never do. */
const addresses: Partial<Record<EventType, (event: StoredEvent) => Address>> = {
  UserRegistered: ofUser,
  IdentityLinked: ofUser,
  UserLoggedIn: ofUser,
  ProfileUpdated: ofUser,
  ContractRegistered: ofContract,
  WatchExtended: ofContract,
  ChainEventObserved: ofChainEvent,
  ChainEventReverted: ofChainEvent,
};

export const publishedTypes = Object.keys(addresses) as EventType[];

/** @throws for an event whose type is not among `publishedTypes` */
export const addressOf = (event: StoredEvent): Address => {
  const address = addresses[event.type as EventType];
  if (!address) throw new Error(`${event.type} is not published`);
  return address(event);
};
