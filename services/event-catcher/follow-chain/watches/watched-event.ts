import type { ObservedRecord, EventOrigin } from '../../../schemas/events/chain-events.ts';
import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import { checksumAddress } from '../../../shared/chain/address.ts';
import { bloomBits, bloomMayContain, type BloomBits } from '../../../shared/chain/bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../../shared/chain/chain-reader.ts';
import { logIdOf } from '../../../shared/chain/log-id.ts';
import { recordWatchIds, watchIdOfRecord } from '../../../shared/chain/watch-id.ts';
import { withClaim } from '../../../shared/read-models/watches.ts';
import { compileDecoder, compileMatcher } from '../domain/log-decoder.ts';

/** A registered event, prepared for finding and decoding its logs. */
export interface WatchedEvent {
  readonly id: string;
  /** What its stored records have as `WatchId`. */
  readonly recordIds: readonly string[];
  readonly chainId: number;
  /** Lower case. */
  readonly contract: string;
  readonly contractAddress: string;
  readonly eventName: string;
  readonly eventSignature: string;
  readonly topic0: string | null;
  readonly decode: ReturnType<typeof compileDecoder>;
  /** Whether a log of the contract is this event. */
  readonly matches: ReturnType<typeof compileMatcher>;
  readonly bloom: readonly BloomBits[];
  /** The first block that it ever had. */
  readonly startBlock: number;
  /** From where on it is wanted now: what is not read of the blocks before is left unread. */
  readonly wantedFrom: number;
  /** Who claims it, each as `claimantText` writes it, in the order of registration. */
  readonly claims: readonly string[];
  readonly isPaused: boolean;
  /** Whether its backfill has no bounds. */
  readonly isUnbounded: boolean;
  /** The last block of its backfill; those after it are read as they come. Not known of a watch that is old. */
  readonly headBlock: number | undefined;
  /** Whether nothing more is read for it: it is paused, or nobody claims it. */
  readonly isStopped: boolean;
}

export const watchedEvent = (event: Extract<WatchEvent, { type: 'ContractRegistered' }>): WatchedEvent => {
  const {
    watchId: id,
    chainId,
    contractAddress,
    eventName,
    eventSignature,
    topic0,
    fragment,
    startBlock,
    headBlock,
  } = event.data;
  const contract = contractAddress.toLowerCase();
  return {
    id,
    recordIds: recordWatchIds({ id, chainId, contractAddress, eventSignature, topic0 }),
    chainId,
    contract,
    contractAddress,
    eventName,
    eventSignature,
    topic0,
    decode: compileDecoder(fragment, checksumAddress),
    matches: compileMatcher(fragment, topic0),
    bloom: [contract, ...(topic0 === null ? [] : [topic0])].map(bloomBits),
    startBlock,
    wantedFrom: startBlock,
    claims: withClaim([], event),
    isPaused: false,
    isUnbounded: false,
    headBlock,
    isStopped: false,
  };
};

/** Whether a record is the watch's, in its start block or a later one. */
export const belongsTo = (watch: WatchedEvent, record: ObservedRecord): boolean =>
  watch.recordIds.includes(watchIdOfRecord(record)) && record.BlockNumber >= watch.startBlock;

/** @param blockTime ISO 8601 */
export const recordOf = (
  watch: WatchedEvent,
  log: ChainLog,
  blockTime: string,
  origin: EventOrigin,
): ObservedRecord => ({
  Id: logIdOf({ ChainId: watch.chainId, BlockHash: log.blockHash, TxHash: log.txHash, LogIndex: log.logIndex }),
  WatchId: watch.id,
  ChainId: watch.chainId,
  ContractAddress: watch.contractAddress,
  EventName: watch.eventName,
  EventSignature: watch.eventSignature,
  BlockNumber: log.blockNumber,
  BlockHash: log.blockHash,
  BlockTime: blockTime,
  TxHash: log.txHash,
  TxIndex: log.txIndex,
  LogIndex: log.logIndex,
  Data: watch.decode(log),
  Origin: origin,
});

export const filterFor = (watches: readonly WatchedEvent[]): LogFilter => {
  const topics = watches.map(({ topic0 }) => topic0);
  return {
    addresses: [...new Set(watches.map(({ contract }) => contract))],
    topics: topics.includes(null) ? [] : [...new Set(topics.filter((topic) => topic !== null))],
  };
};

/** Returns the watches that may have logs in a block. The others certainly have none. */
export const filterByBloom = (
  { logsBloom, number }: Pick<BlockHeader, 'logsBloom' | 'number'>,
  watches: readonly WatchedEvent[],
): WatchedEvent[] =>
  watches.filter(
    ({ bloom, startBlock }) => startBlock <= number && bloom.every((bits) => bloomMayContain(logsBloom, bits)),
  );

/**
 * Finds the watches of a log: those of its contract and first topic, then those of anonymous events of the contract with
 * its layout.
 */
export const matcherFor = (watches: readonly WatchedEvent[]): ((log: ChainLog) => readonly WatchedEvent[]) => {
  const named = Map.groupBy(watches, ({ contract, topic0 }) => `${contract}/${topic0 ?? 'anonymous'}`);
  return (log) => {
    const ofTopic0 = named.get(`${log.address}/${log.topics[0] ?? 'none'}`) ?? [];
    const anonymous = named.get(`${log.address}/anonymous`)?.filter(({ matches }) => matches(log)) ?? [];
    return anonymous.length === 0 ? ofTopic0 : [...ofTopic0, ...anonymous];
  };
};
