import { BLOOM_OF_EVERYTHING } from '../../../shared/chain/bloom.ts';
import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { recordsOfBlock } from './block-records.ts';
import type { ChainLedger } from './chain-ledger.ts';
import { isOf, type Watch } from './watched-event.ts';

/** Stores what a watch has in the blocks of the window that are not final; only inside `exclusively`. */
export const observeWindow = async (
  reader: ChainReader,
  ledger: ChainLedger,
  watch: Watch,
  isWanted: (block: number) => boolean,
): Promise<void> => {
  if (!ledger.window) return;
  const wanted = ledger.window.slice(1).filter(({ number }) => isWanted(number));
  const headers = await reader.headersByNumber(wanted.map(({ number }) => number));
  const records = await Promise.all(
    wanted.map((block, at) => {
      // A header that has changed meanwhile is a reorganisation to come: its bloom says nothing about our block.
      const header = headers[at]?.hash === block.hash ? headers[at] : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
      return recordsOfBlock(reader, header, [watch], 'backfill');
    }),
  );
  for (const [at, { hash }] of wanted.entries()) {
    await ledger.observe(records[at] ?? []);
    ledger.settle((record) => record.BlockHash === hash && isOf(watch, record));
  }
};
