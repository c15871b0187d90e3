import type { EventType } from './events/catalogue.ts';

export interface Topic {
  name: string;
  partitions: number;
  /** How long a message is kept. `null`: for ever. */
  retentionMs: number | null;
}

const DAY_MS = 86_400_000;

/** Every topic for events, with the interface's defaults, and the events it contains. The relay decides their keys. */
export const topics = {
  users: {
    name: 'annals.users.v1',
    partitions: 12,
    retentionMs: 30 * DAY_MS,
    events: [
      'UserRegistered',
      'IdentityLinked',
      'IdentityUnlinked',
      'UserLoggedIn',
      'ProfileUpdated',
      'MessengerUpdated',
      'SmartAccountAssigned',
      'UserErased',
    ],
  },
  transactions: {
    name: 'annals.transactions.v1',
    partitions: 12,
    retentionMs: 30 * DAY_MS,
    events: [
      'TxSubmitted',
      'TxDelayed',
      'TxIncluded',
      'TxReverted',
      'TxFinalized',
      'TxReorged',
      'TxReplaced',
      'TxDropped',
    ],
  },
  contracts: {
    name: 'annals.contracts.v1',
    partitions: 3,
    retentionMs: null,
    events: ['ContractRegistered', 'WatchExtended', 'WatchShortened', 'WatchPaused', 'WatchResumed', 'WatchRemoved'],
  },
  chainEvents: {
    name: 'annals.chain-events.v1',
    partitions: 12,
    retentionMs: 7 * DAY_MS,
    events: ['ChainEventObserved', 'ChainEventReverted'],
  },
} as const satisfies Record<string, Topic & { events: readonly EventType[] }>;

const PARKED_PARTITIONS = 3;
const PARKED_RETENTION_MS = 90 * DAY_MS;
const parked = <Name extends string>({ name }: { name: Name }) => ({
  name: `${name}.parked` as const,
  partitions: PARKED_PARTITIONS,
  retentionMs: PARKED_RETENTION_MS,
});

/** The topics for events that cannot be published in their own topic. */
export const parkedTopics = {
  users: parked(topics.users),
  transactions: parked(topics.transactions),
  contracts: parked(topics.contracts),
  chainEvents: parked(topics.chainEvents),
} as const satisfies Record<keyof typeof topics, Topic>;

export const allTopics: readonly Topic[] = [...Object.values(topics), ...Object.values(parkedTopics)];

/** The published events. Sessions, challenges, identities, apps and progress are never published. */
export type PublishedType = (typeof topics)[keyof typeof topics]['events'][number];

/** Returns the key of a contract's messages: CAIP-2 chain and lower-case address. */
export const contractKey = (chainId: number, contractAddress: string): string =>
  `eip155:${String(chainId)}/${contractAddress.toLowerCase()}`;
