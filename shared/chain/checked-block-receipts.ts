import { z } from 'zod';
import { safeParse } from '../primitives/safe-parse.ts';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING, bloomOf, isPartOfBloom } from './bloom.ts';
import type { BlockOfLogs, ReceiptLogs } from './chain-reader.ts';
import { checkLogs, InvalidAnswer } from './checked-answers.ts';

const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase());
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  logsBloom: z
    .string()
    .regex(/^0x[0-9a-fA-F]{512}$/)
    .transform((text) => text.toLowerCase()),
  logs: z.array(z.unknown()),
});
const transactions = z.object({ hash, transactions: z.array(hash) });

/** The hashes of a block's transactions. @throws InvalidAnswer, also if the block is another one */
export const checkTransactions = (answer: unknown, block: BlockOfLogs): string[] => {
  const parsed = safeParse(transactions, answer);
  if (!parsed.success) throw new InvalidAnswer(`the block is not valid: ${z.prettifyError(parsed.error)}`);
  if (parsed.data.hash !== block.hash) throw new InvalidAnswer('the block is another one');
  return parsed.data.transactions;
};

/**
 * Returns all logs of a block as `eth_getLogs` would, from its receipts.
 * @param hashes of its transactions; some chains have receipts besides, of what the chain itself did
 * @throws InvalidAnswer if a receipt is missing or of another block, or its logs are not those of its bloom
 */
export const checkReceipts = (answer: unknown, hashes: readonly string[], block: BlockOfLogs): ReceiptLogs => {
  const parsed = safeParse(z.array(receipt), answer);
  if (!parsed.success) throw new InvalidAnswer(`the receipts are not valid: ${z.prettifyError(parsed.error)}`);
  const receipts = parsed.data;
  const received = new Set(receipts.map(({ transactionHash }) => transactionHash));
  if (received.size < receipts.length) throw new InvalidAnswer('two receipts are of one transaction');
  if (hashes.some((one) => !received.has(one))) throw new InvalidAnswer('a receipt is missing');
  if (receipts.some(({ blockHash }) => blockHash !== block.hash))
    throw new InvalidAnswer('a receipt is of another block');
  const request = { addresses: [], topics: [], from: block.number, to: block.number, blockHash: block.hash };
  for (const { logs, logsBloom, transactionHash } of receipts) {
    const own = checkLogs(logs, request);
    if (own.some(({ txHash }) => txHash !== transactionHash))
      throw new InvalidAnswer('a log is of another transaction');
    // Some chains leave every bloom empty.
    const isClaimed = logsBloom !== BLOOM_OF_NOTHING || own.length === 0;
    if (isClaimed && bloomOf(own) !== logsBloom)
      throw new InvalidAnswer('the logs of a receipt are not those of its bloom');
  }
  const all = checkLogs(
    receipts.flatMap(({ logs }) => logs),
    request,
  );
  // Some chains have logs that the block's bloom omits. No chain has bloom bits without a log.
  if (block.logsBloom !== BLOOM_OF_EVERYTHING && !isPartOfBloom(block.logsBloom, bloomOf(all))) {
    throw new InvalidAnswer('logs that the bloom announces are missing');
  }
  return { logs: all, txHashes: received };
};
