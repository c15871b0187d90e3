import { observedRecord, type ObservedRecord } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import {
  chainEventIdFrom,
  chainEventsModel,
  type ChainEventDocument,
} from '../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Channel } from '../domain/channel.ts';

/** Records per page. Reading, checking and serialising them blocks other work for some milliseconds. */
const PAGE_DOCUMENTS = 64;
/** Maximum records of the contract that a query searches for those of the channel. */
const RECORDS_PER_QUERY = 1_000;
const BLOCK_NUMBER_MAX = 999_999_999_999;
const { record } = chainEventsModel.collections;
const { chain } = chainsModel.collections;

/** A record as the read model holds it. */
export interface Observation extends Pick<ChainEventDocument, 'changes' | 'observedPosition' | 'reverted'> {
  record: ObservedRecord;
}

/** The observations to read: those after the position `after`, up to and including `until`. */
export interface PositionRange {
  channel: Channel;
  fromBlock: number;
  after: Position;
  until: Position;
  /** Maximum observations of a page; default 64, which is also the most. */
  limit?: number | undefined;
}

export interface ObservationPage {
  found: Observation[];
  /** All observations of the range up to this position are in this page or in an earlier one. */
  reached: Position;
}

/** Returns the position of the read model of chain events. */
export const checkpointOfChainEvents = (readStore: ReadStore): Promise<Position> =>
  readStore.position(chainEventsModel.name);

/**
 * Yields pages of observations, ordered by `observedPosition`, the position of the newest observation of a record. Each
 * page blocks other work for some milliseconds at most, and the reader can yield in between.
 */
export async function* observations(readStore: ReadStore, range: PositionRange): AsyncGenerator<ObservationPage> {
  const { channel, fromBlock, after, until, limit = PAGE_DOCUMENTS } = range;
  if (after >= until) return;
  const few = fromBlock > 0 ? await fewFrom(readStore, channel, fromBlock) : undefined;
  if (few) {
    const found = few
      .filter(({ observedPosition }) => after < observedPosition && observedPosition <= until)
      .sort((one, other) => one.observedPosition - other.observedPosition);
    for (let at = 0; ; at += limit) {
      const page = found.slice(at, at + limit);
      const hasMore = found.length > at + limit;
      yield { found: page, reached: hasMore ? (page.at(-1)?.observedPosition ?? until) : until };
      if (!hasMore) return;
    }
  }
  const { chainId: ChainId, contractAddress: ContractAddress } = channel;
  const filter = { ContractAddress, ChainId, WatchId: channel.watchId, BlockNumber: { gte: fromBlock } };
  for (let reached = after, end = after; reached < until;) {
    if (reached === end) end = await positionOfNth(readStore, channel, { after: reached, until });
    const documents = await readStore.find(record.name, {
      filter: { ...filter, observedPosition: { gt: reached, lte: end } },
      sort: [['observedPosition', 'asc']],
      limit: Math.min(limit, PAGE_DOCUMENTS),
    });
    const found = documents.map(({ document }) => readObservation(document));
    reached = found.length === Math.min(limit, PAGE_DOCUMENTS) ? (found.at(-1)?.observedPosition ?? end) : end;
    yield { found, reached };
  }
}

/** Positions at which a record was observed and reverted, whether it is reverted now, and its block. */
export type RecordChanges = Pick<ChainEventDocument, 'changes' | 'observedPosition' | 'reverted' | 'BlockNumber'>;

/** Yields the records of a block and later ones, including reverted ones, in chain order and in pages. */
export async function* recordsFrom(
  readStore: ReadStore,
  channel: Channel,
  fromBlock: number,
): AsyncGenerator<RecordChanges[]> {
  const { gte, lt } = idsFrom(channel, fromBlock);
  for (let after: string | undefined; ;) {
    const documents = await readStore.find(record.name, {
      filter: { id: after === undefined ? { gte, lt } : { gt: after, lt }, WatchId: channel.watchId },
      sort: [['id', 'asc']],
      limit: PAGE_DOCUMENTS,
    });
    yield documents.map(({ document }) => changes.parse(document));
    after = documents.at(-1)?.id;
    if (documents.length < PAGE_DOCUMENTS) return;
  }
}

/** Returns the observations of a block and later ones, if those of the whole contract fit into a page. */
const fewFrom = async (
  readStore: ReadStore,
  channel: Channel,
  fromBlock: number,
): Promise<Observation[] | undefined> => {
  const filter = { id: idsFrom(channel, fromBlock) };
  const limit = PAGE_DOCUMENTS + 1;
  const documents = await readStore.find(record.name, { filter, sort: [['id', 'asc']], limit });
  if (documents.length === limit) return undefined;
  return documents
    .map(({ document }) => readObservation(document))
    .filter(({ record: { WatchId } }) => WatchId === channel.watchId);
};

/** The ids of the contract's records, which sort in chain order. */
const idsFrom = ({ chainId, contractAddress }: Channel, block: number) => ({
  gte: chainEventIdFrom(chainId, contractAddress, Math.min(block, BLOCK_NUMBER_MAX)),
  lt: chainEventIdFrom(chainId, contractAddress, BLOCK_NUMBER_MAX),
});

/** Returns the position up to which one query may search: the contract has that many indexed records before it. */
const positionOfNth = async (
  readStore: ReadStore,
  { contractAddress: ContractAddress }: Channel,
  { after, until }: Pick<PositionRange, 'after' | 'until'>,
): Promise<Position> => {
  const [nth] = await readStore.find(record.name, {
    filter: { ContractAddress, observedPosition: { gt: after, lte: until } },
    sort: [['observedPosition', 'asc']],
    skip: RECORDS_PER_QUERY - 1,
    limit: 1,
  });
  return nth ? changes.parse(nth.document).observedPosition : until;
};

const changes = record.document.pick({ changes: true, observedPosition: true, reverted: true, BlockNumber: true });
const readObservation = (document: JsonObject): Observation => ({
  ...changes.parse(document),
  record: observedRecord.parse(document),
});

/** The finalized block of a chain, and the position of the event that says so; -1 and 0 if none is known. */
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
