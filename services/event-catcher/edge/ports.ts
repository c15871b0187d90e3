import type { CatcherAnnouncement, NodeAnnouncement } from '../../../schemas/announcements.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';

/** `ReadonlyMap<number, SupportedChain>`: the chains that are configured, by id. */
export const CHAINS = Symbol('Chains');
/** The part of a chain reader that a registration needs. */
export type SupportedChain = Pick<ChainReader, 'head' | 'hasCode' | 'proxyOf' | 'logsOfRange'>;

/** A process that announces itself. */
interface Announced<Document> {
  isAlive: boolean;
  document: Document;
}

/** `Nodes`: the processes of the stream. */
export const NODES = Symbol('Nodes');
export interface Nodes {
  current: () => Promise<Announced<NodeAnnouncement>[]>;
  find: (isWanted: (document: NodeAnnouncement) => boolean) => Promise<NodeAnnouncement | undefined>;
}

/** `Catchers`: the event catchers, this one among them. */
export const CATCHERS = Symbol('Catchers');
export interface Catchers {
  current: () => Promise<Announced<CatcherAnnouncement>[]>;
}

/** `FollowerStatus` */
export const FOLLOWER_STATUS = Symbol('FollowerStatus');
/** How fast watches are backfilled, and the errors that delay it, here or at the event catcher that follows their chain. */
export interface FollowerStatus {
  ratesOf: (watch: { id: string; chainId: number }) => { eventsPerSecond: number; blocksPerSecond: number };
  errorOf: (watch: { id: string; chainId: number }) => string | null;
  /** What should be known of a watch, or its chain, though it is read. */
  warningOf: (watch: { id: string; chainId: number }) => string | null;
}
