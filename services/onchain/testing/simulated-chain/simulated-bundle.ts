import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type { BundleTrial } from '../../chain/operations-chain.ts';
import {
  ValidationFailed,
  type Executed,
  type SimulatedEntryPoint,
  type BlockContext,
  type Validated,
} from './simulated-entry-point.ts';
import { named, type SimulatedState } from './simulated-state.ts';

export interface BundleRun {
  trial: BundleTrial;
  gasUsed: bigint;
  /** Empty if the bundle failed. */
  executed: Executed[];
}

/** Gas that the EntryPoint itself needs before it calls the account of an operation. */
const INNER_GAS_OVERHEAD = 10_000n;
/** `handleOps` may pass 63/64 of its gas to `innerHandleOp`, which may pass 63/64 of that to the account. */
const [GIVEN, PARTS] = [63n ** 2n, 64n ** 2n];

/** Runs `handleOps`: executes all operations, or none. */
export const runBundle = (
  { entryPoint, state }: { entryPoint: SimulatedEntryPoint; state: SimulatedState },
  { operations, beneficiary }: { operations: readonly UserOperation[]; beneficiary: string },
  block: BlockContext,
  /** Without the intrinsic gas of the transaction; `undefined`: unlimited. */
  gasLimit?: bigint,
): BundleRun => {
  const mark = state.mark();
  let gasUsed = 0n;
  const fail = (trial: Exclude<BundleTrial, { kind: 'ok' }>): BundleRun => {
    state.goBack(mark);
    return { trial, gasUsed: gasLimit === undefined || gasUsed < gasLimit ? gasUsed : gasLimit, executed: [] };
  };
  const validated: Validated[] = [];
  for (const [index, operation] of operations.entries()) {
    try {
      validated.push(entryPoint.validate(operation, block));
    } catch (error) {
      if (!(error instanceof ValidationFailed)) throw error;
      if (error.reason === undefined) return fail({ kind: 'reverted', revertData: '0x' });
      return fail({ kind: 'failed', index, reason: error.reason, revertData: '0x' });
    }
    gasUsed += validated.at(-1)?.gas.verification ?? 0n;
  }
  const executed: Executed[] = [];
  for (const [index, valid] of validated.entries()) {
    const { callGasLimit, paymaster } = valid.operation;
    const needed = callGasLimit + (paymaster?.postOpGasLimit ?? 0n) + INNER_GAS_OVERHEAD;
    if (gasLimit !== undefined && ((gasLimit - gasUsed) * GIVEN) / PARTS < needed) {
      return fail({ kind: 'failed', index, reason: 'AA95 out of gas', revertData: '0x' });
    }
    executed.push(entryPoint.execute(valid, block));
    gasUsed += valid.gas.execution;
  }
  const collected = executed.reduce((sum, { actualGasCost }) => sum + actualGasCost, 0n);
  state.add(named.wei(beneficiary), collected);
  return { trial: { kind: 'ok', gasUsed }, gasUsed, executed };
};
