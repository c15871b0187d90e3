import { contractKey, topics, type PublishedType } from '../../../schemas/topics.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

export type TopicName = keyof typeof topics;

const keyOfUser = ({ stream }: StoredEvent): string => stream.slice('user-'.length).toLowerCase();
const keyOfContract = ({ data }: StoredEvent): string =>
  contractKey(data['chainId'] as number, data['contractAddress'] as string);
const keyOfSender = ({ data }: StoredEvent): string => contractKey(data['chainId'] as number, data['sender'] as string);
/** Reads the stream's name instead of the data, whose parsing costs too much on this hot path. */
const keyOfChainEvent = ({ stream }: StoredEvent): string => {
  const [, chainId = '', contract = ''] = stream.split('-');
  return contractKey(Number(chainId), contract);
};

const keys: Record<TopicName, (event: StoredEvent) => string> = {
  users: keyOfUser,
  transactions: keyOfSender,
  contracts: keyOfContract,
  chainEvents: keyOfChainEvent,
};

const topicNames = new Map<string, TopicName>(
  (Object.keys(topics) as TopicName[]).flatMap((name) => topics[name].events.map((type) => [type, name] as const)),
);
export const publishedTypes = [...topicNames.keys()] as PublishedType[];

/** @throws if the event's type is not in `publishedTypes` */
export const topicOf = ({ type }: StoredEvent): TopicName => {
  const name = topicNames.get(type);
  if (!name) throw new Error(`${type} is not published`);
  return name;
};

/** The key of an event's message. Messages with the same key keep their order. */
export const keyOf = (event: StoredEvent): string => keys[topicOf(event)](event);

/** As `keyOf`; the stream for an event whose key cannot be determined. Such an event is parked under it. */
export const keyOrStream = (event: StoredEvent): string => {
  try {
    return keyOf(event);
  } catch {
    return event.stream;
  }
};
