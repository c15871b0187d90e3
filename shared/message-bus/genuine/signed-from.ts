import type { Topic } from '../../../schemas/topics.ts';
import { SIGNED_TOPICS_KIND, signedTopic } from '../../../schemas/announcements.ts';
import type { Position } from '../../event-store/event-store.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import type { MessageBus } from '../message-bus.ts';

/** Where the signed messages of a topic begin. A relay of an earlier version published those before, unsigned. */
export interface SignedFrom {
  /** Position of the newest event whose message may be unsigned. */
  position: Position;
  /** Offset of the first message that must be signed, by partition. */
  offsets: ReadonlyMap<number, string>;
}

interface Stores {
  messageBus: Pick<MessageBus, 'offsets'>;
  readStore: Pick<ReadStore, 'announce' | 'announcements'>;
}

/** @returns `undefined` while no relay that signs has published to the topic */
export const signedFrom = async (
  { readStore }: { readStore: Pick<Stores['readStore'], 'announcements'> },
  { name }: Pick<Topic, 'name'>,
): Promise<SignedFrom | undefined> => {
  const found = (await readStore.announcements(SIGNED_TOPICS_KIND)).find(({ id }) => id === name);
  if (!found) return undefined;
  const { position, offsets } = signedTopic.parse(found.document);
  return { position, offsets: new Map(offsets) };
};

/**
 * Records, once per topic, that its messages are signed from now on.
 * @param published the position up to which a relay has published already; 0: everything will be published, and signed
 */
export const recordSignedFrom = async (stores: Stores, topic: Topic, published: Position): Promise<void> => {
  if (await signedFrom(stores, topic)) return;
  const offsets = published === 0 ? [] : [...(await stores.messageBus.offsets(topic, 'latest'))];
  const document = { position: published, offsets };
  await stores.readStore.announce(SIGNED_TOPICS_KIND, { id: topic.name, renewals: 1, document });
};
