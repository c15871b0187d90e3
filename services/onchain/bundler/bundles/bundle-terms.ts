import { dataGas, TRANSACTION_FEE_MAX, type ForkRules } from '../domain/fork-rules.ts';
import { gasToGive } from '../domain/operation-bounds.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { BundleTerms } from './executor-account.ts';

/** What the EntryPoint keeps back beside the limits of a call, and what measuring leaves out. */
const OVERHEAD_GAS = 50_000n;

type Fees = Pick<BundleTerms, 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

/**
 * Returns the gas limit of a bundle: what it uses, and so much more that the EntryPoint finds the limits of the largest call
 * left for it (AA95). The sum of all limits would leave blocks half empty. Never less than its data costs by the rules of the
 * chain: nodes leave such a transaction out of blocks for ever.
 * @param gasUsed by `handleOps`, without the transaction's own
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

/** Returns the gas limit of a bundle of one operation that suffices whatever it uses: the sum of its limits. */
const largestGasLimit = (operation: UserOperation, by: { beneficiary: string; rules: ForkRules }): bigint => {
  const { verificationGasLimit, paymaster } = operation;
  const gasUsed = verificationGasLimit + (paymaster?.verificationGasLimit ?? 0n);
  return bundleGasLimit([operation], { ...by, gasUsed });
};

/** Returns the gas limit of a bundle: of one operation no more than all of its limits together. */
export const gasLimitOf = (
  operations: readonly UserOperation[],
  by: { beneficiary: string; gasUsed: bigint; rules: ForkRules },
): bigint => {
  const enough = bundleGasLimit(operations, by);
  const [first] = operations;
  return first && operations.length === 1 ? least([enough, largestGasLimit(first, by)]) : enough;
};

/** The most that a bundle of so much gas pays for each: by the setting of the chain, and by what nodes take for a transaction. */
export const bundleFeeCap = (feeCap: bigint, gasLimit: bigint): bigint =>
  least([feeCap, TRANSACTION_FEE_MAX / gasLimit]);

/**
 * Returns fees that every operation of a bundle pays, so that whoever sends it loses nothing. What they offer above the tip
 * that blocks are paid is the executor's, who pays for bundles that are reverted.
 * @param feeCap of this bundle
 */
export const bundleFees = (
  operations: readonly UserOperation[],
  { feeCap, tipMax }: { feeCap: bigint; tipMax: bigint },
): Fees => {
  const maxFeePerGas = least([feeCap, ...operations.map((one) => one.maxFeePerGas)]);
  const tips = operations.map((one) => one.maxPriorityFeePerGas);
  return { maxFeePerGas, maxPriorityFeePerGas: least([maxFeePerGas, tipMax, ...tips]) };
};

/**
 * Returns fees that are an eighth higher: nodes take another transaction of a nonce from a tenth on. Blocks may ask for more
 * than they did: the tip is at least what the operations offer.
 */
export const raisedFees = (
  { maxFeePerGas, maxPriorityFeePerGas }: Fees,
  operations: readonly UserOperation[],
  feeCap: bigint,
): Fees => {
  const raised = anEighthMore(maxFeePerGas);
  // The last step goes as far as the cap, if that is still enough for nodes.
  const isEnough = feeCap * 10n >= maxFeePerGas * 11n;
  const fee = raised > feeCap && isEnough ? feeCap : raised;
  const offered = least([fee, ...operations.map((one) => one.maxPriorityFeePerGas)]);
  const tip = anEighthMore(maxPriorityFeePerGas);
  return { maxFeePerGas: fee, maxPriorityFeePerGas: operations.length > 0 && offered > tip ? offered : tip };
};

const EMPTY_GAS = 21_000n;

/** Returns the terms of an empty transaction that takes the nonce of a bundle. It costs little, whatever the feeCap is. */
export const emptyTerms = (terms: BundleTerms): BundleTerms => ({
  ...terms,
  gasLimit: EMPTY_GAS,
  maxFeePerGas: anEighthMore(terms.maxFeePerGas),
  maxPriorityFeePerGas: anEighthMore(terms.maxPriorityFeePerGas),
});

const anEighthMore = (wei: bigint): bigint => (wei * 9n) / 8n + 1n;

const least = (values: readonly bigint[]): bigint => values.reduce((least, value) => (value < least ? value : least));
