import { BlocksRefused, RangeTooLarge, type ChainReader, type LogFilter } from '../../../shared/chain/chain-reader.ts';
import type { BlockRange } from '../../../shared/chain/client/refusals/suggested-range.ts';

/**
 * Finds the last block of the refused stretch that begins at `from`, which the caller knows to be refused. Requests single blocks in
 * growing steps (1, 2, 4, …) and then bisects: about 2·log₂(n) requests.
 * @throws ChainUnavailable if it cannot be found out now
 */
export const findRefusedEnd = async (
  reader: Pick<ChainReader, 'logsOfRange'>,
  filter: LogFilter,
  { from, to }: BlockRange,
  onRefused: (block: number) => void = () => undefined,
): Promise<number> => {
  let refused = from;
  let answered = to + 1;
  const ask = async (block: number) => {
    if (await isRefused(reader, filter, block)) {
      refused = block;
      onRefused(block);
    } else answered = block;
  };
  for (let step = 1; refused + step < answered; step *= 2) await ask(refused + step);
  while (refused + 1 < answered) await ask(Math.floor((refused + answered) / 2));
  return refused;
};

/** As `findRefusedEnd`, but requests block `from` first; `undefined` if that is not refused. @throws ChainUnavailable */
export const findRefusedEndAfter = async (
  reader: Pick<ChainReader, 'logsOfRange'>,
  filter: LogFilter,
  range: BlockRange,
): Promise<number | undefined> =>
  (await isRefused(reader, filter, range.from)) ? findRefusedEnd(reader, filter, range) : undefined;

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
