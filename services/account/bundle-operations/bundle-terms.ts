import { gasToGive } from '../domain/operation-bounds.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { BundleTerms } from './executor-account.ts';

const TRANSACTION_GAS = 21_000n;
const ZERO_BYTE_GAS = 4;
const BYTE_GAS = 16;
/** What the EntryPoint keeps back beside the limits of a call, and what measuring leaves out. */
const OVERHEAD_GAS = 50_000n;

type Fees = Pick<BundleTerms, 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

/**
 * Returns the gas limit of a bundle: what it uses, and so much more that the EntryPoint finds the limits of the largest call
 * left for it (AA95). The sum of all limits would leave blocks half empty.
 * @param gasUsed by `handleOps`, without the transaction's own
 */
export const bundleGasLimit = (operations: readonly UserOperation[], beneficiary: string, gasUsed: bigint): bigint => {
  const largest = operations.reduce((most, { callGasLimit, paymaster }) => {
    const limits = callGasLimit + (paymaster?.postOpGasLimit ?? 0n);
    return limits > most ? limits : most;
  }, 0n);
  return (
    TRANSACTION_GAS + dataGas(encodeHandleOps(operations, beneficiary)) + gasUsed + gasToGive(largest) + OVERHEAD_GAS
  );
};

/** Returns the gas limit of a bundle of one operation that suffices whatever it uses: the sum of its limits. */
export const largestGasLimit = (operation: UserOperation, beneficiary: string): bigint => {
  const { verificationGasLimit, paymaster } = operation;
  return bundleGasLimit([operation], beneficiary, verificationGasLimit + (paymaster?.verificationGasLimit ?? 0n));
};

/** Returns fees that every operation of a bundle pays, so that whoever sends it loses nothing. */
export const bundleFees = (operations: readonly UserOperation[], feeCap: bigint): Fees => {
  const maxFeePerGas = least([feeCap, ...operations.map((one) => one.maxFeePerGas)]);
  return {
    maxFeePerGas,
    maxPriorityFeePerGas: least([maxFeePerGas, ...operations.map((one) => one.maxPriorityFeePerGas)]),
  };
};

/** Returns fees that are an eighth higher: nodes take another transaction of a nonce from a tenth on. */
export const raisedFees = ({ maxFeePerGas, maxPriorityFeePerGas }: Fees, feeCap: bigint): Fees => {
  const raised = anEighthMore(maxFeePerGas);
  // The last step goes as far as the cap, if that is still enough for nodes.
  const isEnough = feeCap * 10n >= maxFeePerGas * 11n;
  return {
    maxFeePerGas: raised > feeCap && isEnough ? feeCap : raised,
    maxPriorityFeePerGas: anEighthMore(maxPriorityFeePerGas),
  };
};

const anEighthMore = (wei: bigint): bigint => (wei * 9n) / 8n + 1n;

const dataGas = (data: string): bigint => {
  let gas = 0;
  for (const byte of Buffer.from(data.slice(2), 'hex')) gas += byte === 0 ? ZERO_BYTE_GAS : BYTE_GAS;
  return BigInt(gas);
};

const least = (values: readonly bigint[]): bigint => values.reduce((least, value) => (value < least ? value : least));
