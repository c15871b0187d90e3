import type { ObservedRecord, EventOrigin } from '../../../schemas/events/chain-events.ts';
import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import { checksumAddress } from '../../../shared/chain/address.ts';
import { bloomBits, type BloomBits } from '../../../shared/chain/bloom.ts';
import type { ChainLog } from '../../../shared/chain/chain-reader.ts';
import { compileDecoder, compileMatcher } from '../domain/log-decoder.ts';

/** A registered event as the catcher uses it. */
export interface Watch {
  readonly id: string;
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
  startBlock: number;
}

export const watchOf = ({ data }: Extract<WatchEvent, { type: 'ContractRegistered' }>): Watch => {
  const { watchId: id, chainId, contractAddress, eventName, eventSignature, topic0, fragment, startBlock } = data;
  const contract = contractAddress.toLowerCase();
  return {
    id,
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
  };
};

/** Whether a record is one that the watch asks for. */
export const isOf = (watch: Watch, { ContractAddress, EventSignature, BlockNumber }: ObservedRecord): boolean =>
  ContractAddress === watch.contractAddress &&
  EventSignature === watch.eventSignature &&
  BlockNumber >= watch.startBlock;

/** @param blockTime ISO 8601 */
export const recordOf = (watch: Watch, log: ChainLog, blockTime: string, origin: EventOrigin): ObservedRecord => ({
  Id: `${String(watch.chainId)}:${log.blockHash}:${log.txHash}:${String(log.logIndex)}`,
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
