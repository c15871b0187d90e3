import { observedRecord, type ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { chainEventsModel, type ChainEventDocument } from '../../../shared/read-models/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

const PAGE_DOCUMENTS = 500;
const { record } = chainEventsModel.collections;
const { chain } = chainsModel.collections;

/** A record as the read model holds it. */
export interface Observation extends Pick<ChainEventDocument, 'changes' | 'observedPosition' | 'reverted'> {
  record: ObservedRecord;
}

/** Which observations of a channel to read: those after the position `after`, up to and including `until`. */
export interface PositionRange {
  channel: Channel;
  fromBlock: number;
  after: Position;
  until: Position;
}

/** Returns the position up to which the read model of chain events was projected. */
export const checkpointOfChainEvents = (readStore: ReadStore): Promise<Position> =>
  readStore.position(chainEventsModel.name);

/** Yields pages of observations, ordered by `observedPosition`, the position of the newest observation of a record. */
export async function* observations(readStore: ReadStore, range: PositionRange): AsyncGenerator<Observation[]> {
  const { channel, fromBlock, after, until } = range;
  const { chainId: ChainId, contractAddress: ContractAddress } = channel;
  const filter = {
    ContractAddress,
    ChainId,
    WatchId: { in: recordWatchIds({ ...channel, id: channel.watchId }) },
    BlockNumber: { gte: fromBlock },
  };
  for (let reached = after; reached < until;) {
    const found = await readStore.find(record.name, {
      filter: { ...filter, observedPosition: { gt: reached, lte: until } },
      sort: [['observedPosition', 'asc']],
      limit: PAGE_DOCUMENTS,
    });
    const page = found.map(({ document }) => readObservation(document));
    yield page;
    reached = page.length === PAGE_DOCUMENTS ? (page.at(-1)?.observedPosition ?? until) : until;
  }
}

const changes = record.document.pick({ changes: true, observedPosition: true, reverted: true });
const readObservation = (document: JsonObject): Observation => ({
  ...changes.parse(document),
  record: observedRecord.parse(document),
});

/** The finalized block of a chain, and the position of the event that says so; -1 and 0 while none is known. */
export interface FinalizedBlock {
  block: number;
  position: Position;
}

const progress = chain.document.pick({ finalized: true });

export const finalizedBlockOf = async (readStore: ReadStore, chainId: number): Promise<FinalizedBlock> => {
  const id = String(chainId);
  const stored = (await readStore.getMany(chain.name, [id])).get(id);
  return stored
    ? { block: progress.parse(stored.document).finalized, position: stored.position }
    : { block: -1, position: 0 };
};
