import type { BackfillStatus, catcherAnnouncement, nodeAnnouncement } from '../../../schemas/announcements.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { Members } from '../../../shared/coordination/members.ts';

/** `ReadonlyMap<number, SupportedChain>`: the chains that are configured, by id. */
export const CHAINS = Symbol('Chains');
/** The part of a chain reader that a registration needs. */
export type SupportedChain = Pick<ChainReader, 'head' | 'hasCode' | 'proxyOf' | 'logsOfRange'>;

/** `Nodes`: the processes of the stream service. */
export const NODES = Symbol('Nodes');
export type Nodes = Pick<Members<typeof nodeAnnouncement>, 'current' | 'find'>;

/** `Catchers`: the event catchers, this one among them. */
export const CATCHERS = Symbol('Catchers');
export type Catchers = Pick<Members<typeof catcherAnnouncement>, 'current'>;

/** `FollowerStatus` */
export const FOLLOWER_STATUS = Symbol('FollowerStatus');
/** Tells of a watch what this process knows, or the event catcher that follows its chain. */
export interface FollowerStatus {
  statusOf: (watch: { id: string; chainId: number }) => FollowedStatus;
}
/** How fast a watch is backfilled, why it or its chain cannot be read, and a warning about either if it is read. */
export type FollowedStatus = Omit<BackfillStatus, 'watchIds'>;
export const NOT_FOLLOWED: FollowedStatus = { eventsPerSecond: 0, blocksPerSecond: 0, error: null, warning: null };
