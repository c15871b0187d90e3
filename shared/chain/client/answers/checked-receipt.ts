import { z } from 'zod';
import type { BundleReceipt } from '../../../../schemas/http/onchain/operation-receipt.ts';
import { safeParse } from '../../../primitives/text/safe-parse.ts';
import { checksumAddress } from '../../identifiers/address.ts';
import { InvalidAnswer } from './checked-answers.ts';

const lowerCase = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.toLowerCase());
/** Removes leading zeros, which some nodes write. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => `0x${BigInt(text).toString(16)}`);
const hash = lowerCase(/^0x[0-9a-fA-F]{64}$/);
const bytes = lowerCase(/^0x(?:[0-9a-fA-F]{2})*$/);
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => checksumAddress(text.slice(2).toLowerCase()));
const addressOrNone = address.nullish().transform((found) => found ?? null);

const place = { transactionHash: hash, transactionIndex: quantity, blockHash: hash, blockNumber: quantity };
const log = z
  .object({ address, topics: z.array(hash).max(4), data: bytes, ...place, logIndex: quantity })
  .transform((fields) => ({ ...fields, removed: false as const }));
const receipt = z.object({
  ...place,
  from: address,
  to: addressOrNone,
  contractAddress: addressOrNone,
  cumulativeGasUsed: quantity,
  gasUsed: quantity,
  effectiveGasPrice: quantity,
  status: quantity,
  type: quantity.default('0x0'),
  logsBloom: bytes,
  logs: z.array(log),
});

/** Returns `undefined` for `null`, the answer for a transaction that is in no block. @throws InvalidAnswer */
export const checkBundleReceipt = (answer: unknown, asked: string): BundleReceipt | undefined => {
  if (answer === null) return undefined;
  const parsed = safeParse(receipt, answer);
  if (!parsed.success) throw new InvalidAnswer(`the receipt is not valid: ${z.prettifyError(parsed.error)}`);
  const { transactionHash, blockHash, logs } = parsed.data;
  if (transactionHash !== asked.toLowerCase()) throw new InvalidAnswer('the receipt is of another transaction');
  if (logs.some((one) => one.blockHash !== blockHash || one.transactionHash !== transactionHash)) {
    throw new InvalidAnswer('the receipt has logs of another transaction');
  }
  return parsed.data;
};
