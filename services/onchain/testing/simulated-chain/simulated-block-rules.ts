import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { dataGas, type ForkRules } from '../../operations/domain/fork-rules.ts';
import type { SimulatedTransaction } from './simulated-transaction.ethers.ts';

export const GAS_LIMIT = 30_000_000n;
/** The highest total fee and the longest data of a transaction that geth accepts. */
const FEE_MAX = 10n ** 18n;
const BYTES_MAX = 131_072;
const GWEI = 10n ** 9n;
/** A block's base fee differs from that of its parent by at most an eighth. */
const BASE_FEE_PARTS = 8n;
const BASE_FEE_MOST = 100n * GWEI;
const BASE_FEE_LEAST = 7n;

/** Returns geth's refusal of an invalid transaction; `undefined` for a valid one. */
export const faultOf = (
  { intrinsicGas, gasLimit, maxFeePerGas, data }: SimulatedTransaction,
  rules: ForkRules,
): string | undefined => {
  if (gasLimit < intrinsicGas) return 'intrinsic gas too low';
  if (gasLimit < dataGas(data, rules).floor) return 'insufficient gas for floor data gas cost';
  if (gasLimit > GAS_LIMIT) return 'exceeds block gas limit';
  if (gasLimit > (rules.transactionGasMax ?? GAS_LIMIT)) return 'transaction gas limit too high';
  if (gasLimit * maxFeePerGas > FEE_MAX) return 'tx fee exceeds the configured cap (1.00 ether)';
  return (data.length - 2) / 2 > BYTES_MAX ? 'oversized data' : undefined;
};

export const nextBaseFee = (before: bigint, random: SeededRandom): bigint => {
  const most = before / BASE_FEE_PARTS;
  const next = before + (most * BigInt(random.between(-100, 100))) / 100n;
  if (next < BASE_FEE_LEAST) return BASE_FEE_LEAST;
  return next > BASE_FEE_MOST ? BASE_FEE_MOST : next;
};
