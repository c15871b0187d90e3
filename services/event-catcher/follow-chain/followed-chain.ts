import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../shared/config/chain-settings.ts';
import type { NewHeads } from '../../../shared/chain/client/new-heads.websocket.ts';
import type { Logger } from '../../../shared/host/logger.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import type { Finality } from './window/finality.ts';
import type { BackfillBounds } from './backfill/backfill-bounds.ts';
import type { ProgressMeter } from './chains/progress-meter.ts';
import type { AppendDependencies } from './stored-changes/chain-appends.ts';
import type { ChainRecords } from './stored-changes/chain-records.ts';
import type { StoredRecords } from './verification/stored-records.ts';
import type { Watches } from './watches/watches.ts';

/** How many RPC calls the verification of a chain, which reads final blocks a second time, may make. */
export interface VerificationLimits {
  /** The shortest time between two checks for blocks that have become final. */
  readonly everyMs: number;
  /** After comparing a range of blocks, the verification pauses at least this long for each RPC call that it made. */
  readonly callMs: number;
}

export interface FollowSettings {
  readonly chainId: number;
  /** Which block is final: the node's `finalized` or `safe` block, or the block at a depth below the head. */
  readonly finality: ChainSettings['finality'];
  /** The depth at which a block is final on a chain without a `finalized` or `safe` block. */
  readonly confirmations: number;
  /** The shortest and the longest pause between two polls for a new head. */
  readonly pollMs: number;
  readonly pollMsMax: number;
  /** Whether all RPC endpoints are on this machine: such a chain may mine blocks on demand. */
  readonly isLocal: boolean;
  /**
   * Whether the chain is a development chain, which may lose final blocks or start again. Any other chain that lost
   * final blocks is not read any further.
   */
  readonly isDevelopment: boolean;
  /**
   * Maximum number of unread block ranges that have a slot: a place in the checkpoint, `ChainAdvanced`. All other
   * ranges are deferred, that is stored elsewhere until there is a slot (decision 0046).
   */
  readonly rangesMax: number;
  readonly verification: VerificationLimits;
}

/** An endpoint's notifications of new heads (`newHeads`): a hint to poll at once. */
export type AnnouncedHeads = Pick<NewHeads, 'announced' | 'announcedAgoMs' | 'isListening'>;

export interface FollowerDependencies extends AppendDependencies {
  reader: ChainReader;
  newHeads: AnnouncedHeads;
  watches: Watches;
  meter: ProgressMeter;
  bounds: BackfillBounds;
  storedRecords: StoredRecords;
  logger: Logger;
}

/** The settings of a chain, and what the code that follows the chain reads from and reports to. */
export interface FollowedChain extends Omit<FollowSettings, 'finality'> {
  readonly reader: ChainReader;
  readonly newHeads: AnnouncedHeads;
  readonly finality: Pick<Finality, 'head' | 'spareCall' | 'at'>;
  readonly watches: Watches;
  readonly records: Pick<ChainRecords, 'unconfirmed'>;
  readonly meter: Pick<ProgressMeter, 'failed' | 'chainWarning' | 'unverified'>;
  readonly logger: Logger;
}

/** Wraps a chain reader so that calls in progress fail as soon as the signal aborts. */
export const abortable = (reader: ChainReader, signal: AbortSignal): ChainReader => ({
  chainId: reader.chainId,
  head: () => untilAborted(reader.head(), signal),
  headAndFinalized: () => untilAborted(reader.headAndFinalized(), signal),
  headersByNumber: (numbers) => untilAborted(reader.headersByNumber(numbers), signal),
  headerByHash: (hash) => untilAborted(reader.headerByHash(hash), signal),
  logsOfBlock: (...asked) => untilAborted(reader.logsOfBlock(...asked), signal),
  logsOfRange: (from, to, filter) => untilAborted(reader.logsOfRange(from, to, filter), signal),
  crossCheckedLogs: (from, to, filter) => untilAborted(reader.crossCheckedLogs(from, to, filter), signal),
  receiptsOfBlock: (header) => untilAborted(reader.receiptsOfBlock(header), signal),
  get usesBlooms() {
    return reader.usesBlooms;
  },
  compareWithBloom: (header, logs) => {
    reader.compareWithBloom(header, logs);
  },
  hasCode: (address, block) => untilAborted(reader.hasCode(address, block), signal),
  proxyOf: (address) => untilAborted(reader.proxyOf(address), signal),
  forgetFinalized: () => {
    reader.forgetFinalized();
  },
  close: () => {
    reader.close();
  },
});
