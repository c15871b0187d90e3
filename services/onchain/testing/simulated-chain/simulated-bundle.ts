import type { UserOperation } from '../domain/user-operation.ts';
import type { BundleTrial } from '../edge/operations-chain.ts';
import {
  ValidationFailed,
  type Executed,
  type SimulatedEntryPoint,
  type Surroundings,
  type Validated,
} from './simulated-entry-point.ts';
import { named, type SimulatedState } from './simulated-state.ts';

export interface BundleRun {
  trial: BundleTrial;
  gasUsed: bigint;
  /** Nothing where it failed. */
  executed: Executed[];
}

/** What the EntryPoint needs itself of an operation's gas before it calls it. */
const INNER_GAS_OVERHEAD = 10_000n;
/** Of 64 parts of gas `handleOps` may give 63 to `innerHandleOp`, which may give 63 of 64 parts of that to the account. */
const [GIVEN, PARTS] = [63n ** 2n, 64n ** 2n];

/** `handleOps`: all of the operations, or none. */
export const runBundle = (
  { entryPoint, state }: { entryPoint: SimulatedEntryPoint; state: SimulatedState },
  { operations, beneficiary }: { operations: readonly UserOperation[]; beneficiary: string },
  surroundings: Surroundings,
  /** Without what a transaction costs before anything is executed; `undefined`: as much as it takes. */
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
      validated.push(entryPoint.validate(operation, surroundings));
    } catch (error) {
      if (!(error instanceof ValidationFailed)) throw error;
      if (error.reason === undefined) return fail({ kind: 'reverted', revertData: '0x' });
      return fail({ kind: 'failed', index, reason: error.reason, revertData: '0x' });
    }
    gasUsed += validated.at(-1)?.gas.verification ?? 0n;
  }
  const executed: Executed[] = [];
  for (const [index, one] of validated.entries()) {
    const { callGasLimit, paymaster } = one.operation;
    const needed = callGasLimit + (paymaster?.postOpGasLimit ?? 0n) + INNER_GAS_OVERHEAD;
    if (gasLimit !== undefined && ((gasLimit - gasUsed) * GIVEN) / PARTS < needed) {
      return fail({ kind: 'failed', index, reason: 'AA95 out of gas', revertData: '0x' });
    }
    executed.push(entryPoint.execute(one, surroundings));
    gasUsed += one.gas.execution;
  }
  const collected = executed.reduce((sum, { actualGasCost }) => sum + actualGasCost, 0n);
  state.add(named.wei(beneficiary), collected);
  return { trial: { kind: 'ok', gasUsed }, gasUsed, executed };
};
