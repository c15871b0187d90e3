import type { ObservedRecord, EventOrigin } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { checksumAddress } from '../../../../shared/chain/identifiers/address.ts';
import { bloomBits, bloomMayContain, type BloomBits } from '../../../../shared/chain/bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../../../shared/chain/chain-reader.ts';
import { logIdOf } from '../../../../shared/chain/identifiers/log-id.ts';
import {
  evolveWatch,
  isStopped,
  type ClaimingEvent,
  type Watch,
} from '../../../../shared/read-models/event-catcher/watches.ts';
import { compileDecoder, compileMatcher } from '../../domain/decoding/log-decoder.ts';

/** A watch, which is a registered event of a contract, prepared for finding and decoding its logs. */
export interface WatchedEvent extends Readonly<Watch> {
  /** The contract's address in lower case. */
  readonly contract: string;
  readonly decode: ReturnType<typeof compileDecoder>;
  /** Whether a log of the contract is this event. */
  readonly matches: ReturnType<typeof compileMatcher>;
  readonly bloom: readonly BloomBits[];
  /** The earliest start block that the watch ever had. */
  readonly startBlock: number;
  /** The present start block: unread blocks before this block stay unread. */
  readonly wantedFrom: number;
  /** The head at registration, where the watch's backfill ends. Registrations stored by older versions lack it. */
  readonly headBlock: number | undefined;
  /** Whether no more blocks are read for the watch, because it is paused or no app or user claims it. */
  readonly isStopped: boolean;
}

/**
 * Returns a watch after one more event of its stream; `undefined` if the watch is not registered yet.
 * @param time Unix milliseconds of the event
 */
export const evolveWatched = (
  known: WatchedEvent | undefined,
  event: ClaimingEvent,
  time: number,
): WatchedEvent | undefined => {
  const watch = evolveWatch(known && { ...known, startBlock: known.wantedFrom }, event, time);
  if (!watch) return undefined;
  const headBlock = event.type === 'ContractRegistered' ? event.data.headBlock : undefined;
  const { startBlock: wantedFrom } = watch;
  return {
    ...(known ?? { ...prepare(watch), headBlock }),
    ...watch,
    startBlock: Math.min(known?.startBlock ?? wantedFrom, wantedFrom),
    wantedFrom,
    isStopped: isStopped(watch),
  };
};

const prepare = ({ contractAddress, topic0, fragment }: Watch) => {
  const contract = contractAddress.toLowerCase();
  return {
    contract,
    decode: compileDecoder(fragment, checksumAddress),
    matches: compileMatcher(fragment, topic0),
    bloom: [contract, ...(topic0 === null ? [] : [topic0])].map(bloomBits),
  };
};

/** Whether a record is of this watch, and in the watch's start block or a later one. */
export const belongsTo = (watch: WatchedEvent, record: ObservedRecord): boolean =>
  record.WatchId === watch.id && record.BlockNumber >= watch.startBlock;

/** Decodes a log into a record of the watch. @param blockTime ISO 8601 */
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

/** Returns the watches that may have logs in a block, by its bloom filter. The other watches certainly have none. */
export const filterByBloom = (
  { logsBloom, number }: Pick<BlockHeader, 'logsBloom' | 'number'>,
  watches: readonly WatchedEvent[],
): WatchedEvent[] =>
  watches.filter(
    ({ bloom, startBlock }) => startBlock <= number && bloom.every((bits) => bloomMayContain(logsBloom, bits)),
  );

/**
 * Returns a function that finds the watches of a log: those of the log's contract and first topic, then the contract's
 * anonymous events whose layout fits.
 */
export const matcherFor = (watches: readonly WatchedEvent[]): ((log: ChainLog) => readonly WatchedEvent[]) => {
  const named = Map.groupBy(watches, ({ contract, topic0 }) => `${contract}/${topic0 ?? 'anonymous'}`);
  return (log) => {
    const ofTopic0 = named.get(`${log.address}/${log.topics[0] ?? 'none'}`) ?? [];
    const anonymous = named.get(`${log.address}/anonymous`)?.filter(({ matches }) => matches(log)) ?? [];
    return anonymous.length === 0 ? ofTopic0 : [...ofTopic0, ...anonymous];
  };
};
