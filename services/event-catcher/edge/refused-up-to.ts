import { BlocksRefused, RangeTooLarge, type ChainReader, type LogFilter } from '../../../shared/chain/chain-reader.ts';
import type { BlockRange } from '../../../shared/chain/suggested-range.ts';

/**
 * Finds the last block that is refused together with the first one of a range, by twice the logarithm of its length in requests of
 * one block each: `from`, 1, 2, 4, … blocks after it, and then halves.
 * @throws ChainUnavailable if it cannot be found out now
 */
export const refusedUpTo = async (
  reader: Pick<ChainReader, 'logsOfRange'>,
  filter: LogFilter,
  { from, to }: BlockRange,
): Promise<number> => {
  let refused = from;
  let answered = to + 1;
  const ask = async (block: number) => {
    if (await isRefused(reader, filter, block)) refused = block;
    else answered = block;
  };
  for (let step = 1; refused + step < answered; step *= 2) await ask(refused + step);
  while (refused + 1 < answered) await ask(Math.floor((refused + answered) / 2));
  return refused;
};

/** The same of a first block of which that is not known; `undefined` if it is not refused. @throws ChainUnavailable */
export const refusedFrom = async (
  reader: Pick<ChainReader, 'logsOfRange'>,
  filter: LogFilter,
  range: BlockRange,
): Promise<number | undefined> =>
  (await isRefused(reader, filter, range.from)) ? refusedUpTo(reader, filter, range) : undefined;

const isRefused = async (
  reader: Pick<ChainReader, 'logsOfRange'>,
  filter: LogFilter,
  block: number,
): Promise<boolean> => {
  try {
    await reader.logsOfRange(block, block, filter);
    return false;
  } catch (error) {
    if (error instanceof BlocksRefused) return true;
    if (error instanceof RangeTooLarge) return false;
    throw error;
  }
};
