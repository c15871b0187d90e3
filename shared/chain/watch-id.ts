import type { ObservedRecord } from '../../schemas/events/chain-events.ts';
import { encodeToken, sha256 } from '../primitives/ids.ts';
import { bareSignature, parseEventSignature, type EventSignature } from './event-signature.ts';

interface Contract {
  chainId: number;
  contractAddress: string;
}

/** The id of a watch. @param event everything in which its event may differ from the contract's others */
export const watchId = ({ chainId, contractAddress }: Contract, event: string): string => {
  const text = `${String(chainId)}:${contractAddress.toLowerCase()}:${event}`;
  return `wch_${encodeToken(Buffer.from(sha256(text), 'hex'), 26)}`;
};

/**
 * The id that a watch got while a contract had one watch for each signature without `indexed`. Watches keep their ids.
 */
export const watchIdOfSignature = (
  contract: Contract,
  signature: Omit<EventSignature, 'anonymous'>,
  anonymous: boolean,
): string => watchId(contract, `${bareSignature(signature)}:${String(anonymous)}`);

/** The watch of a stored record. One that was stored without `WatchId` belongs to the watch of its signature. */
export const watchIdOfRecord = (record: ObservedRecord): string => {
  if (record.WatchId !== undefined) return record.WatchId;
  const { ChainId: chainId, ContractAddress: contractAddress, EventSignature } = record;
  return watchIdOfSignature({ chainId, contractAddress }, parseEventSignature(EventSignature), false);
};

/** A watch, as far as it decides which records are its own. */
interface RecordedWatch extends Contract {
  id: string;
  eventSignature: string;
  /** Absent where it is not known; `null` of an anonymous event. */
  topic0?: string | null;
}

/**
 * The ids under which the records of a watch are found. A record without `WatchId` does not say whether its event is
 * anonymous, so that the watch of an anonymous one has two.
 */
export const recordWatchIds = (watch: RecordedWatch): string[] => {
  if (typeof watch.topic0 === 'string') return [watch.id];
  const signature = parseEventSignature(watch.eventSignature);
  const isAnonymous = watch.id === watchIdOfSignature(watch, signature, true);
  return isAnonymous ? [watch.id, watchIdOfSignature(watch, signature, false)] : [watch.id];
};
