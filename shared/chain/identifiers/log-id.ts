import type { ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';

/** The `Id` of the records of a log: `{chainId}:{blockHash}:{txHash}:{logIndex}`. */
export const logIdOf = ({
  ChainId,
  BlockHash,
  TxHash,
  LogIndex,
}: Pick<ObservedRecord, 'ChainId' | 'BlockHash' | 'TxHash' | 'LogIndex'>): string =>
  `${String(ChainId)}:${BlockHash}:${TxHash}:${String(LogIndex)}`;

/** The name of an event, from its signature. */
export const eventNameOf = ({ EventSignature }: Pick<ObservedRecord, 'EventSignature'>): string =>
  EventSignature.slice(0, Math.max(0, EventSignature.indexOf('(')));
