import { z } from 'zod';
import { address, chainId } from './values.ts';

/** Under which processes of the stream, and event catchers, announce themselves. */
export const NODES_KIND = 'nodes';
export const CATCHERS_KIND = 'catchers';

/** How a message bus finds the partition of a key. */
export const partitioning = z.object({ hash: z.enum(['murmur2', 'crc32']), partitions: z.int().positive() });
export type Partitioning = z.infer<typeof partitioning>;

/** What a process of the stream says of itself to the others, through the read store. */
export const nodeAnnouncement = z.object({
  address,
  domain: z.string(),
  rpcDomain: z.string(),
  connections: z.int().nonnegative(),
  isReady: z.boolean(),
  /** The partitions of the topic of chain events that it reads at present. */
  partitions: z.array(z.int().nonnegative()).default([]),
  /** Of the topic of chain events. */
  partitioning: partitioning.nullable().default(null),
});
export type NodeAnnouncement = z.infer<typeof nodeAnnouncement>;

/** How fast watches are backfilled, and the error that delays them. Those of which all is equal are named together. */
const backfillStatus = z.object({
  watchIds: z.array(z.string()),
  eventsPerSecond: z.int().nonnegative(),
  blocksPerSecond: z.int().nonnegative(),
  error: z.string().nullable(),
  warning: z.string().nullable().default(null),
});
export type BackfillStatus = z.infer<typeof backfillStatus>;

/** What an event catcher says of itself. */
export const catcherAnnouncement = z.object({
  /** Where its clients find its routes, once it listens. */
  domain: z.string().optional(),
  /** The chains that it is to follow, alone or in turn with others. */
  chainIds: z.array(chainId),
  /** Those of them that it could not follow lately. */
  failing: z.array(chainId),
  /** Those that it follows. */
  followed: z.array(chainId),
  /** What a status has that only the one who follows the chain knows, or who could not follow it. */
  statuses: z
    .array(
      z.object({
        chainId,
        error: z.string().nullable(),
        warning: z.string().nullable().default(null),
        backfills: z.array(backfillStatus),
      }),
    )
    .default([]),
});
export type CatcherAnnouncement = z.infer<typeof catcherAnnouncement>;
export type ChainStatus = CatcherAnnouncement['statuses'][number];

/** Under which the relay says, once for each topic and for good, from where on it signs. */
export const SIGNED_TOPICS_KIND = 'signed-topics';
export const signedTopic = z.object({
  position: z.int().nonnegative(),
  offsets: z.array(z.tuple([z.int().nonnegative(), z.string()])),
});

/** Kind of the announcement whether the message bus answers. A relay replaces it when the state changes; it stays after the relay. */
export const MESSAGE_BUS_KIND = 'message-bus';
export const announcedBus = z.object({ state: z.enum(['up', 'down']) });
