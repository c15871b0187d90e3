import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import type { NewHeads } from '../../../shared/chain/new-heads.websocket.ts';
import type { Logger } from '../../../shared/host/logger.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';
import type { Finality } from './finality.ts';
import type { BackfillBounds } from './backfill-bounds.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { AppendDependencies } from './store-changes/chain-appends.ts';
import type { ChainRecords } from './store-changes/chain-records.ts';
import type { StoredRecords } from './verify-chain/stored-records.ts';
import type { Watches } from './watches.ts';

/** How much of its providers' time the verification of a chain takes. */
export interface VerificationLimits {
  /** The shortest time between two looks for blocks that have become final. */
  readonly everyMs: number;
  /** How long each call keeps the next one waiting. */
  readonly callMs: number;
}

export interface FollowSettings {
  readonly chainId: number;
  /** Which block is final: that of a name, or the one that is so deep. */
  readonly finality: ChainSettings['finality'];
  /** How deep a block is final, on a chain that has none of that name. */
  readonly confirmations: number;
  /** The shortest pause between two looks for a new head, and the longest. */
  readonly pollMs: number;
  readonly pollMsMax: number;
  /** Whether all its endpoints are of this machine, so that it may be a chain that mines on demand. */
  readonly isLocal: boolean;
  /** A development chain may lose final blocks or start again. Any other chain that does so is not followed. */
  readonly isDevelopment: boolean;
  /** The most ranges that have a place at a time: `ChainAdvanced` lists all of them. The others are set aside. */
  readonly rangesMax: number;
  readonly verification: VerificationLimits;
}

/** When a new head is announced, it is looked for at once. */
export type AnnouncedHeads = Pick<NewHeads, 'announced' | 'announcedAgoMs'>;

export interface FollowerDependencies extends AppendDependencies {
  reader: ChainReader;
  newHeads: AnnouncedHeads;
  watches: Watches;
  meter: ProgressMeter;
  bounds: BackfillBounds;
  storedRecords: StoredRecords;
  logger: Logger;
}

/** What the steps that follow a chain read from, and know about it. */
export interface FollowedChain extends Omit<FollowSettings, 'finality'> {
  readonly reader: ChainReader;
  readonly newHeads: AnnouncedHeads;
  readonly finality: Pick<Finality, 'head' | 'spareCall' | 'at'>;
  readonly watches: Watches;
  readonly records: Pick<ChainRecords, 'unconfirmed'>;
  readonly meter: Pick<ProgressMeter, 'failed' | 'chainWarning' | 'unverified'>;
  readonly logger: Logger;
}

/** Wraps a reader so that no call waits for a provider after the signal has aborted. */
export const abortable = (reader: ChainReader, signal: AbortSignal): ChainReader => ({
  chainId: reader.chainId,
  head: () => untilAborted(reader.head(), signal),
  headAndFinalized: () => untilAborted(reader.headAndFinalized(), signal),
  headersByNumber: (numbers) => untilAborted(reader.headersByNumber(numbers), signal),
  headerByHash: (hash) => untilAborted(reader.headerByHash(hash), signal),
  logsOfBlock: (...asked) => untilAborted(reader.logsOfBlock(...asked), signal),
  logsOfRange: (from, to, filter) => untilAborted(reader.logsOfRange(from, to, filter), signal),
  logsAgain: (from, to, filter) => untilAborted(reader.logsAgain(from, to, filter), signal),
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
