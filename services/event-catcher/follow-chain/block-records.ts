import type { EventOrigin, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
} from '../../../shared/chain/chain-reader.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { filterFor, matcherFor, possibleIn } from './watch-matching.ts';
import { recordOf, type Watch } from './watched-event.ts';

/** What the watches have in one block: no call when its bloom rules them all out, else one. */
export const recordsOfBlock = async (
  reader: ChainReader,
  header: BlockHeader,
  watches: readonly Watch[],
  origin: EventOrigin,
): Promise<ObservedRecord[]> => {
  const possible = possibleIn(header, watches);
  if (possible.length === 0) return [];
  const logs = await reader.logsOfBlock(header, filterFor(possible));
  return toRecords(logs, possible, () => header.timestamp, origin);
};

/** What one watch has in blocks `from`…`to`, in chain order. @throws RangeTooLarge */
export const recordsOfRange = async (
  reader: ChainReader,
  watch: Watch,
  { from, to }: { from: number; to: number },
): Promise<ObservedRecord[]> => {
  const logs = await logsOfRange(reader, watch, from, to);
  const untimed = new Set(
    logs.filter(({ blockTimestamp }) => blockTimestamp === undefined).map(({ blockNumber }) => blockNumber),
  );
  const times = new Map<number, number>();
  for (const header of await reader.headersByNumber([...untimed])) {
    if (!header) throw new ChainUnavailable('a provider has logs of a block it does not have');
    times.set(header.number, header.timestamp);
  }
  const timeOf = ({ blockTimestamp, blockNumber }: ChainLog) => blockTimestamp ?? times.get(blockNumber) ?? 0;
  return toRecords(logs, [watch], timeOf, 'backfill');
};

/** A single block that is too much as a range is asked for by its hash. */
const logsOfRange = async (reader: ChainReader, watch: Watch, from: number, to: number): Promise<ChainLog[]> => {
  const filter = filterFor([watch]);
  try {
    return await reader.logsOfRange(from, to, filter);
  } catch (error) {
    if (!(error instanceof RangeTooLarge) || from < to) throw error;
    const [header] = await reader.headersByNumber([from]);
    if (!header) throw new ChainUnavailable(`block ${String(from)} is not there`, { cause: error });
    return reader.logsOfBlock(header, filter);
  }
};

const toRecords = (
  logs: readonly ChainLog[],
  watches: readonly Watch[],
  timeOf: (log: ChainLog) => number,
  origin: EventOrigin,
): ObservedRecord[] => {
  const match = matcherFor(watches);
  const records: ObservedRecord[] = [];
  let block = -1;
  let blockTime = '';
  for (const log of logs) {
    const watch = match(log);
    if (!watch) continue;
    if (log.blockNumber !== block) blockTime = toIso(timeOf(log) * 1_000);
    block = log.blockNumber;
    records.push(recordOf(watch, log, blockTime, origin));
  }
  return records;
};
