import { contractKey, topics, type PublishedType, type Topic } from '../../../schemas/topics.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';

/** Where an event goes: events of one key keep their order. */
export interface Address {
  topic: Topic;
  key: string;
}

const keyOfUser = ({ stream }: StoredEvent): string => stream.slice('user-'.length).toLowerCase();
const keyOfContract = ({ data }: StoredEvent): string =>
  contractKey(data['chainId'] as number, data['contractAddress'] as string);
/** Reads the stream's name, not the data: this is the hot path. */
const keyOfChainEvent = ({ stream }: StoredEvent): string => {
  const [, chainId = '', contract = ''] = stream.split('-');
  return contractKey(Number(chainId), contract);
};

const keys = { users: keyOfUser, contracts: keyOfContract, chainEvents: keyOfChainEvent };

const routes = new Map<string, { topic: Topic; keyOf: (event: StoredEvent) => string }>(
  (Object.keys(topics) as (keyof typeof topics)[]).flatMap((name) =>
    topics[name].events.map((type) => [type, { topic: topics[name], keyOf: keys[name] }] as const),
  ),
);

export const publishedTypes = [...routes.keys()] as PublishedType[];

/** @throws for an event whose type is not among `publishedTypes` */
export const addressOf = (event: StoredEvent): Address => {
  const route = routes.get(event.type);
  if (!route) throw new Error(`${event.type} is not published`);
  return { topic: route.topic, key: route.keyOf(event) };
};
