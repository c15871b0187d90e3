import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';

/** The reader, but that nobody waits for a provider once the signal has aborted. */
export const stoppable = (reader: ChainReader, signal: AbortSignal): ChainReader => ({
  chainId: reader.chainId,
  head: () => untilAborted(reader.head(), signal),
  headersByNumber: (numbers) => untilAborted(reader.headersByNumber(numbers), signal),
  headerByHash: (hash) => untilAborted(reader.headerByHash(hash), signal),
  logsOfBlock: (header, filter) => untilAborted(reader.logsOfBlock(header, filter), signal),
  logsOfRange: (from, to, filter) => untilAborted(reader.logsOfRange(from, to, filter), signal),
  hasCode: (address, block) => untilAborted(reader.hasCode(address, block), signal),
  close: () => {
    reader.close();
  },
});
