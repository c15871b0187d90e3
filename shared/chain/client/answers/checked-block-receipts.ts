import { z } from 'zod';
import { safeParse } from '../../../primitives/text/safe-parse.ts';
import { BLOOM, HASH, hexOf } from './answered-forms.ts';
import { BLOOM_OF_NOTHING, bloomOf } from '../../bloom.ts';
import type { BlockOfLogs, ReceiptLogs } from '../../chain-reader.ts';
import { checkLogs, InvalidAnswer } from './checked-answers.ts';

const hash = z.unknown().transform((value, context) => {
  const hex = hexOf(value, HASH);
  if (hex === undefined) context.addIssue('is not a hash');
  return hex ?? '';
});
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  // Some chains have no blooms, or leave all of them empty.
  logsBloom: z.unknown().transform((value) => hexOf(value, BLOOM) ?? BLOOM_OF_NOTHING),
  // A node written in Go may send an empty list as null.
  logs: z
    .array(z.unknown())
    .nullable()
    .transform((logs) => logs ?? []),
});
/** Some nodes send whole transactions although only hashes were requested. */
const transaction = z.union([hash, z.object({ hash }).transform((whole) => whole.hash)]);
const transactions = z.object({ hash, transactions: z.array(transaction) });

/** Returns the hashes of a block's transactions. @throws InvalidAnswer, also if the answer is another block */
export const checkTransactions = (answer: unknown, block: BlockOfLogs): string[] => {
  const parsed = safeParse(transactions, answer);
  if (!parsed.success) throw new InvalidAnswer(`the block is not valid: ${z.prettifyError(parsed.error)}`);
  if (parsed.data.hash !== block.hash) throw new InvalidAnswer('the answer is another block');
  return parsed.data.transactions;
};

/**
 * Returns all logs of a block, as `eth_getLogs` would, from its receipts.
 * @param hashes of its transactions; some chains have further receipts, for actions of the chain itself
 * @throws InvalidAnswer if a receipt is missing or belongs to another block, or its logs do not match its bloom
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
    const isClaimed = logsBloom !== BLOOM_OF_NOTHING || own.length === 0;
    if (isClaimed && bloomOf(own) !== logsBloom)
      throw new InvalidAnswer('the logs of a receipt are not those of its bloom');
  }
  const all = checkLogs(
    receipts.flatMap(({ logs }) => logs),
    request,
  );
  return { logs: all, txHashes: received };
};
