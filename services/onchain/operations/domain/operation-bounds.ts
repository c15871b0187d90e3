import { digitsOf } from './abi-encoding.ts';
import {
  dataGas,
  TRANSACTION_DATA_BYTES_MAX,
  TRANSACTION_FEE_MAX,
  transactionGasMax,
  type ForkRules,
} from './fork-rules.ts';
import { least } from './amounts.ts';
import { encodeHandleOps } from './operation-encoding.ts';
import { preVerificationGas } from './pre-verification-gas.ts';
import type { UserOperation } from './user-operation.ts';

/** The EntryPoint refuses more (AA94). */
const AMOUNT_MAX = 2n ** 120n - 1n;
/** The gas of a bundle beyond the limits of its operation. */
const BUNDLE_GAS = 100_000n;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);

/**
 * Returns the gas that the EntryPoint needs to have left to give so much to the execution of an operation (else AA95):
 * `handleOps` gives 63/64 of its gas to `innerHandleOp`, which gives 63/64 of that to the account.
 */
export const gasToGive = (limits: bigint): bigint => (limits * 64n ** 2n) / 63n ** 2n;

interface Bounds {
  head: { gasLimit: bigint; baseFeePerGas: bigint };
  rules: ForkRules;
  /** The gas that pays a rollup's fee for data; 0 on any other chain. */
  dataFeeGas: bigint;
  tips: TipBounds;
}

/** The lowest and the highest tip that an operation may offer, in wei per gas. */
export interface TipBounds {
  /** 0 if no node of the chain has named a minimum. */
  least: bigint;
  /** The `tipMax` of the chain. */
  max: bigint;
}

/** Returns why no sender may offer a tip here; `undefined` if the tip is within bounds. */
export const faultOfTip = (tip: bigint, { least, max }: TipBounds): string | undefined => {
  if (tip > max)
    return `maxPriorityFeePerGas is ${String(tip)}, above the tipMax of this chain, which is ${String(max)} wei`;
  if (tip >= least) return undefined;
  return `maxPriorityFeePerGas is ${String(tip)}, below the least that the nodes of this chain take, which is ${String(least)} wei`;
};

/**
 * Returns the tip of an operation that pays at most `feeCap`, and why no sender may offer that tip, if so.
 * @param wanted without the limit of `feeCap`
 */
export const tipWithin = (
  wanted: bigint,
  { feeCap, tips }: { feeCap: bigint; tips: TipBounds },
): { tip: bigint; fault: string | undefined } => {
  const tip = least(wanted, feeCap);
  return { tip, fault: faultOfTip(wanted, tips) ?? faultOfTip(tip, tips) };
};

/** Returns why no block can contain an operation, or why no node takes it; `undefined` if the operation is within bounds. */
export const faultOfBounds = (
  operation: UserOperation,
  { head, rules, dataFeeGas, tips }: Bounds,
): string | undefined => {
  const { callGasLimit, verificationGasLimit, maxFeePerGas, maxPriorityFeePerGas, paymaster } = operation;
  const { verificationGasLimit: ofPaymaster = 0n, postOpGasLimit = 0n } = paymaster ?? {};
  const validation = [verificationGasLimit, operation.preVerificationGas, ofPaymaster];
  const execution = [callGasLimit, postOpGasLimit];
  if ([...validation, ...execution, maxFeePerGas, maxPriorityFeePerGas].some((amount) => amount > AMOUNT_MAX))
    return 'a limit or a fee has more than 120 bits';
  if (maxPriorityFeePerGas > maxFeePerGas) return 'maxPriorityFeePerGas is above maxFeePerGas';
  const faultyTip = faultOfTip(maxPriorityFeePerGas, tips);
  if (faultyTip !== undefined) return faultyTip;
  if (maxFeePerGas < head.baseFeePerGas)
    return `maxFeePerGas is below the base fee, which is ${String(head.baseFeePerGas)}`;
  const data = encodeHandleOps([operation], ZERO_ADDRESS);
  if (digitsOf(data).length / 2 > TRANSACTION_DATA_BYTES_MAX) return 'the operation is too long for a transaction';
  const limits = sum(validation) + gasToGive(sum(execution)) + BUNDLE_GAS;
  const { floor } = dataGas(data, rules);
  const gas = limits > floor ? limits : floor;
  if (gas > head.gasLimit) return 'the gas limits fit no block';
  const gasMax = transactionGasMax(head, rules);
  if (gas > gasMax) return `a transaction may have ${String(gasMax)} gas here (EIP-7825), and the gas limits need more`;
  if (gas * head.baseFeePerGas > TRANSACTION_FEE_MAX)
    return `with these gas limits a bundle costs more than nodes take for one transaction: ${String(TRANSACTION_FEE_MAX)} wei`;
  const required = preVerificationGas(operation, rules) + dataFeeGas;
  return operation.preVerificationGas < required ? `preVerificationGas is below ${String(required)}` : undefined;
};
