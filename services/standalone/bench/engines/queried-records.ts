import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import { chainEventDocumentId, chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../../shared/read-models/event-catcher/watches.ts';
import type { DocumentChange, ReadStore } from '../../../../shared/read-store/read-store.ts';
import { storedEvent } from '../../../../shared/testing/event-builder.ts';

const { watchId, chainId, contractAddress } = eventExamples.ContractRegistered;
export const queriedContract = { chainId, contractAddress };
export const queriedWatch = watchId;

const RECORDS_PER_BLOCK = 100;
const RECORDS_PER_TRANSACTION = 2;
const HOLDERS = 1_000_000;
/** One in this many records is to the same address, such as an exchange, and another one has the same value. */
const BUSY_EVERY = 10;
const BUSY_VALUE_AT = 5;
/** As many as a projection stores at once while it lags. */
const BATCH = 2_000;

const hex = (number: number, digits: number) => `0x${number.toString(16).padStart(digits, '0')}`;
/** Pseudo-random, and reproducible. */
const mixed = (index: number, salt: number) => Math.imul(index + salt, 0x9e3779b1) >>> 0;

export const busyHolder = hex(1, 40);
export const BUSY_VALUE = '1000';
const holder = (number: number): string => `0x1${hex(number, 39).slice(2)}`;
export const blockOf = (index: number): number => Math.floor(index / RECORDS_PER_BLOCK);

/** The members by which the record with this index is searched. */
export const searchedMembers = (index: number) => ({
  txHash: hex(Math.floor(index / RECORDS_PER_TRANSACTION), 64),
  from: holder(mixed(index, 1) % HOLDERS),
  to: index % BUSY_EVERY === 0 ? busyHolder : holder(mixed(index, 2) % HOLDERS),
  value: index % BUSY_EVERY === BUSY_VALUE_AT ? BUSY_VALUE : String(mixed(index, 3)),
});

const recordAt = (index: number): ObservedRecord => {
  const { txHash, ...Data } = searchedMembers(index);
  const block = blockOf(index);
  const LogIndex = index % RECORDS_PER_BLOCK;
  const BlockHash = hex(block, 64);
  return {
    ...eventExamples.ChainEventObserved,
    Id: `${String(chainId)}:${BlockHash}:${txHash}:${String(LogIndex)}`,
    WatchId: watchId,
    ChainId: chainId,
    ContractAddress: contractAddress,
    BlockNumber: block,
    BlockHash,
    TxHash: txHash,
    TxIndex: Math.floor(LogIndex / RECORDS_PER_TRANSACTION),
    LogIndex,
    Data,
  };
};

/** Stores the watch and this many of its records, as the projection would, but without events. */
export const fillRecords = async (readStore: ReadStore, records: number): Promise<void> => {
  const { record, count } = chainEventsModel.collections;
  const { metadata, ...others } = storedEvent('ChainEventObserved', {}, { position: 0 });
  const observed = { ...others, metadata };
  let counted: JsonObject | undefined;
  for (let from = 0; from < records; from += BATCH) {
    const changes: DocumentChange[] = [];
    for (let index = from; index < Math.min(records, from + BATCH); index += 1) {
      const position = index + 1;
      const data = recordAt(index);
      const after = chainEventsModel.evolve({ record: undefined, count: counted }, { ...observed, position, data });
      counted = after['count'];
      const document = after['record'] ?? {};
      changes.push({ collection: record.name, id: chainEventDocumentId(data), position, document, isNew: true });
    }
    changes.push({ collection: count.name, id: watchId, position: from + BATCH, document: counted ?? {} });
    await readStore.apply(chainEventsModel.name, changes, from + BATCH);
  }
  await fillWatch(readStore, blockOf(records));
};

const fillWatch = async (readStore: ReadStore, head: number): Promise<void> => {
  const { watch } = watchesModel.collections;
  const { chain } = chainsModel.collections;
  const registered = storedEvent('ContractRegistered', {}, { position: 1 });
  const advanced = storedEvent('ChainAdvanced', { chainId, head, finalized: head - 20 }, { position: 1 });
  const documents = [
    [watchesModel, watch.name, watchId, watchesModel.evolve({}, registered)['watch']],
    [chainsModel, chain.name, String(chainId), chainsModel.evolve({}, advanced)['chain']],
  ] as const;
  for (const [{ name }, collection, id, document = {}] of documents)
    await readStore.apply(name, [{ collection, id, position: 1, document }], 1);
};
