import type { Projections } from '../../../shared/edge/answers/projections.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { SEGMENT_RECORDS } from '../../../shared/chain/identifiers/record-terms.ts';
import { channelName, type Channel } from '../domain/channel.ts';
import { finalizedBlockOf, recordsFrom } from '../edge/observations.ts';
import { SharedAnswers } from './shared-answers.ts';

interface Range {
  after: Position;
  until: Position;
}

interface Options {
  readStore: ReadStore;
  projections: Pick<Projections, 'reached'>;
  /** Yields to other work before the next page is read. */
  yieldToOthers: () => Promise<void>;
}

const { count } = chainEventsModel.collections;
/** For so long, clients that return with the same cursor share the answer. */
const ANSWERS_TTL_MS = 1_000;
const ANSWERS_MAX = 1_000;
/** Maximum records examined, one page per tick. */
const RECORDS_MAX = SEGMENT_RECORDS;

/**
 * Returns the first block in which the channel changed after a position, or an earlier block if the exact one would
 * take long to find.
 * @throws Refusal not_caught_up while the read model is behind `until`; the signal's reason when the client is gone
 */
export const firstChangedBlock = async (
  { readStore, projections, yieldToOthers }: Options,
  channel: Channel,
  { after, until }: Range,
  signal: AbortSignal,
): Promise<number> => {
  await projections.reached(chainEventsModel.name, until);
  const stored = (await readStore.getMany(count.name, [channel.watchId])).get(channel.watchId);
  const segments = stored ? count.document.parse(stored.document).segments : [];
  const changed = segments.filter(([, , , , newest]) => newest > after);
  // Nothing of the channel changed: any block will do.
  if (changed.length === 0) return Math.max(0, (await finalizedBlockOf(readStore, channel.chainId)).block);
  // Blocks before the first block of these segments have not changed.
  let block = changed.reduce((least, [first]) => Math.min(least, first), Infinity);
  let records = 0;
  for await (const page of recordsFrom(readStore, channel, block)) {
    const found = page.find(({ changes }) => (changes.at(-1) ?? 0) > after);
    if (found) return found.BlockNumber;
    block = page.at(-1)?.BlockNumber ?? block;
    records += page.length;
    if (records >= RECORDS_MAX) return block;
    await yieldToOthers();
    signal.throwIfAborted();
  }
  return block;
};

/** Returns the same function, for clients that share what is read. */
export const changedBlocks = (options: Options & { clock: Pick<Clock, 'elapsed'> }) => {
  const answers = new SharedAnswers<{ block: number }>({
    ...{ maxBytes: ANSWERS_MAX, ttlMs: ANSWERS_TTL_MS, bytesOf: () => 1, clock: options.clock },
  });
  return async (channel: Channel, range: Range, signal: AbortSignal): Promise<number> => {
    const key = [channelName(channel), range.after, range.until].join(' ');
    const find = async (ending: AbortSignal) => ({ block: await firstChangedBlock(options, channel, range, ending) });
    return (await answers.get(key, signal, find)).block;
  };
};
