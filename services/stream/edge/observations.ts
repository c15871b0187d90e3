import { observedRecord, type ObservedRecord } from '../../../schemas/events/chain-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { chainEventsModel, type ChainEventDocument } from '../../../shared/read-models/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

const PAGE_DOCUMENTS = 500;
const { record } = chainEventsModel.collections;
const { chain } = chainsModel.collections;

/** A record as the read model has it. */
export interface Observation extends Pick<ChainEventDocument, 'changes' | 'observedPosition' | 'reverted'> {
  record: ObservedRecord;
}

/** Observations of one channel by their position: after `after`, up to and with `until`. */
export interface PositionRange {
  channel: Channel;
  fromBlock: number;
  after: Position;
  until: Position;
}

/** How far the read model of observations has come. */
export const observedUntil = (readStore: ReadStore): Promise<Position> => readStore.position(chainEventsModel.name);

/** In the order of their newest observation, page by page. */
export async function* observations(readStore: ReadStore, range: PositionRange): AsyncGenerator<Observation[]> {
  const { channel, fromBlock, after, until } = range;
  const { chainId: ChainId, contractAddress: ContractAddress, eventSignature: EventSignature } = channel;
  const filter = { ContractAddress, ChainId, EventSignature, BlockNumber: { gte: fromBlock } };
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

/** Up to which block a chain is final, and the position from which on that is known. */
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
