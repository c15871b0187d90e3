import { dataGas, TRANSACTION_FEE_MAX, type ForkRules } from '../../operations/domain/fork-rules.ts';
import { least } from '../../operations/domain/amounts.ts';
import { gasToGive } from '../../operations/domain/operation-bounds.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type { BundleTerms } from './executor-account.ts';

/** Gas that the EntryPoint requires besides a call's gas limits, and that a trial by `eth_call` does not measure. */
const OVERHEAD_GAS = 50_000n;

type Fees = Pick<BundleTerms, 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'isLegacy'>;

/**
 * Returns the gas limit of a bundle: the gas used, plus enough that the limits of the largest call are still available
 * when the EntryPoint checks them (AA95). The sum of all limits would be safe, but leave blocks half empty. Never below
 * the minimum for the transaction's data (EIP-7623), which nodes require.
 * @param gasUsed by `handleOps`, without the intrinsic gas of the transaction
 */
const bundleGasLimit = (
  operations: readonly UserOperation[],
  { beneficiary, gasUsed, rules }: { beneficiary: string; gasUsed: bigint; rules: ForkRules },
): bigint => {
  const largest = operations.reduce((most, { callGasLimit, paymaster }) => {
    const limits = callGasLimit + (paymaster?.postOpGasLimit ?? 0n);
    return limits > most ? limits : most;
  }, 0n);
  const { intrinsic, floor } = dataGas(encodeHandleOps(operations, beneficiary), rules);
  const executed = intrinsic + gasUsed + gasToGive(largest) + OVERHEAD_GAS;
  return executed > floor ? executed : floor;
};

/**
 * Returns a gas limit that is always enough for a bundle of one operation: the sum of the operation's own gas limits,
 * plus what `bundleGasLimit` adds for the bundle itself.
 */
const largestGasLimit = (operation: UserOperation, by: { beneficiary: string; rules: ForkRules }): bigint => {
  const { verificationGasLimit, paymaster } = operation;
  const gasUsed = verificationGasLimit + (paymaster?.verificationGasLimit ?? 0n);
  return bundleGasLimit([operation], { ...by, gasUsed });
};

/**
 * Returns the gas limit of a bundle. A bundle of one operation gets at most `largestGasLimit`: the measured gas
 * contains the call, and `bundleGasLimit` adds the limits of the call once more.
 */
export const gasLimitOf = (
  operations: readonly UserOperation[],
  by: { beneficiary: string; gasUsed: bigint; rules: ForkRules },
): bigint => {
  const enough = bundleGasLimit(operations, by);
  const [first] = operations;
  return first && operations.length === 1 ? least(enough, largestGasLimit(first, by)) : enough;
};

/** Returns the highest `maxFeePerGas` of a bundle, in wei: `feeCap`, or less if nodes would refuse the total fee. */
export const bundleFeeCap = (feeCap: bigint, gasLimit: bigint): bigint => least(feeCap, TRANSACTION_FEE_MAX / gasLimit);

/**
 * Returns fees of a bundle that each of its operations covers, so that the executor loses nothing. The executor keeps
 * what the operations offer above `tipMax`, and pays for reverted bundles with that surplus. On a chain without a base fee the
 * bundle is a legacy transaction, whose price is the tip.
 * @param feeCap the highest `maxFeePerGas` of this bundle
 * @param tipMax the highest tip per gas that a bundle has a reason to pay
 */
export const bundleFees = (
  operations: readonly UserOperation[],
  { feeCap, tipMax, baseFee }: { feeCap: bigint; tipMax: bigint; baseFee: bigint },
): Fees => {
  const maxFeePerGas = least(feeCap, ...operations.map((operation) => operation.maxFeePerGas));
  const tips = operations.map((operation) => operation.maxPriorityFeePerGas);
  const tip = least(maxFeePerGas, tipMax, ...tips);
  const isLegacy = baseFee === 0n;
  return { maxFeePerGas: isLegacy ? tip : maxFeePerGas, maxPriorityFeePerGas: tip, isLegacy };
};

/**
 * Returns the fees for a new version of a bundle: an eighth higher, as nodes require at least a tenth more to replace a
 * transaction. The tip rises further if all operations offer more: blocks may now require a higher tip.
 */
export const raisedFees = (
  { maxFeePerGas, maxPriorityFeePerGas, isLegacy }: Fees,
  operations: readonly UserOperation[],
  feeCap: bigint,
): Fees => {
  const raised = anEighthMore(maxFeePerGas);
  // If an eighth more exceeds `feeCap`, the fee is `feeCap`, provided that `feeCap` is at least a tenth higher.
  const isEnough = feeCap * 10n >= maxFeePerGas * 11n;
  const fee = raised > feeCap && isEnough ? feeCap : raised;
  const offered = least(fee, ...operations.map((operation) => operation.maxPriorityFeePerGas));
  const raisedTip = anEighthMore(maxPriorityFeePerGas);
  const tip = least(fee, operations.length > 0 && offered > raisedTip ? offered : raisedTip);
  return { maxFeePerGas: fee, maxPriorityFeePerGas: isLegacy ? fee : tip, isLegacy };
};

const EMPTY_GAS = 21_000n;

/**
 * Returns the terms of an empty transaction that replaces a bundle, only to use its nonce. May exceed the fee cap:
 * 21,000 gas cost little.
 */
export const emptyTerms = (terms: BundleTerms): BundleTerms => ({
  ...terms,
  gasLimit: EMPTY_GAS,
  maxFeePerGas: anEighthMore(terms.maxFeePerGas),
  maxPriorityFeePerGas: anEighthMore(terms.maxPriorityFeePerGas),
});

const anEighthMore = (wei: bigint): bigint => (wei * 9n) / 8n + 1n;
