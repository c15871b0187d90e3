import { z } from 'zod';
import { address, chainId } from './values.ts';

/** Under which processes of the stream, and event catchers, announce themselves. */
export const NODES_KIND = 'nodes';
export const CATCHERS_KIND = 'catchers';

/** What a process of the stream says of itself to the others, through the read store. */
export const nodeAnnouncement = z.object({
  address,
  domain: z.string(),
  rpcDomain: z.string(),
  connections: z.int().nonnegative(),
  isReady: z.boolean(),
});
export type NodeAnnouncement = z.infer<typeof nodeAnnouncement>;

/** What an event catcher says of itself. */
export const catcherAnnouncement = z.object({
  /** The chains that it is to follow, alone or in turn with others. */
  chainIds: z.array(chainId),
  /** Those of them that it could not follow lately. */
  failing: z.array(chainId),
  /** Those that it follows. */
  followed: z.array(chainId),
});
export type CatcherAnnouncement = z.infer<typeof catcherAnnouncement>;
