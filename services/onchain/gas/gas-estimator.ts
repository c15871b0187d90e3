import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import { reasonOf } from '../chain/domain/revert-reason.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { executedCallData, executionProbe, readExecution, type Execution } from './execution-probe.ts';
import type { RequestBatcher } from '../chain/request-batcher.ts';
import type { OperationsChain, Simulation, SimulationRequest } from '../chain/operations-chain.ts';
import { searchLimit, searchLimitOnce } from './search-limit.ts';

/** The gas limits of an operation. The paymaster's are 0 if there is none. */
export interface GasLimits {
  callGasLimit: bigint;
  verificationGasLimit: bigint;
  paymasterVerificationGasLimit: bigint;
  paymasterPostOpGasLimit: bigint;
}

/** Its limits and fees are ignored, and its signatures may be stubs. */
export interface EstimationRequest extends Pick<SimulationRequest, 'operation' | 'asDeployed' | 'stateOverride'> {
  /** Whether the caller overrides the state, and may so make each simulation as long as possible: then there is one round. */
  isOverridden?: boolean;
}

export type Simulations = RequestBatcher<SimulationRequest, Simulation>;
type Valid = Extract<Simulation, { kind: 'valid' }>;
/** The limits of the validation. */
type Validation = Pick<GasLimits, 'verificationGasLimit' | 'paymasterVerificationGasLimit'>;

/** Together with validation and the EntryPoint's reserve, the gas limit of a transaction since Osaka (2^24). */
export const CALL_GAS_MAX = 15_000_000n;
const VALIDATION_GAS_MAX = 4_000_000n;
/** Less gas than any call takes. */
const CALL_GAS_MIN = 2_000n;
/** The gas with which the EntryPoint reads the deposit of an account that pays for itself. */
const DEPOSIT_GAS = 2_300n;
const PLENTY: Validation = {
  verificationGasLimit: VALIDATION_GAS_MAX,
  paymasterVerificationGasLimit: VALIDATION_GAS_MAX,
};
/** So high that the account has to pay in addition to its deposit, because paying takes gas. The account is given enough. */
const HIGH_FEE = 10n ** 15n;
const MUCH_WEI = `0x1${'0'.repeat(32)}`;

const withMargin = (gas: bigint): bigint => gas + gas / 32n;

/** Finds gas limits with which operations succeed as they do with plenty of gas. */
export class GasEstimator {
  constructor(
    private readonly chain: Pick<OperationsChain, 'entryPoint' | 'chainId'>,
    private readonly simulations: Pick<Simulations, 'ask'>,
  ) {}

  /**
   * The sender's balance matters only for the value that it sends. The limit of `postOp` does not change.
   * @throws Refusal execution_reverted, user_op_rejected, dependency_unavailable
   * @throws ChainUnavailable
   */
  async estimate(request: EstimationRequest): Promise<GasLimits> {
    const { callData, paymaster } = request.operation;
    const [bare, whole] = await this.simulations.ask([this.bare(request), this.limited(request, PLENTY, CALL_GAS_MAX)]);
    const all = requireValid(whole);
    const account = requireValid(bare);
    if (!account.targetSuccess) throw reverted(reasonOf(account.targetResult), account.targetResult);
    const ofAccount = paymaster ? account.preOpGas - DEPOSIT_GAS : all.preOpGas;
    const validation: Validation = {
      verificationGasLimit: withMargin(ofAccount),
      paymasterVerificationGasLimit: paymaster ? withMargin(all.preOpGas - ofAccount) : 0n,
    };
    const plenty = readExecution(all.targetResult);
    if (!plenty) throw unavailable('the node gives too little gas to a call', undefined);
    if (!plenty.succeeded) throw reverted(`the call needs more than ${String(CALL_GAS_MAX)} gas`, '0x');
    const callGasLimit = plenty.gasUsed + plenty.gasUsed / 8n + 500n;
    const [check] = await this.simulations.ask([this.limited(request, validation, callGasLimit)]);
    return {
      ...(check?.kind === 'valid' ? validation : await this.searchValidation(request, validation)),
      callGasLimit: callData === '0x' ? 0n : await this.searchCall(request, { check, plenty, callGasLimit }),
      paymasterPostOpGasLimit: paymaster?.postOpGasLimit ?? 0n,
    };
  }

  /**
   * The gas used is not a sufficient limit if a call passes on 63/64 of its gas, catches running out of gas, or asks how much
   * gas is left. An execution that uses as much gas as it does with plenty of gas counts as the same.
   */
  private async searchCall(
    request: EstimationRequest,
    tried: { check: Simulation | undefined; plenty: Execution; callGasLimit: bigint },
  ): Promise<bigint> {
    const { check, plenty, callGasLimit } = tried;
    if (request.isOverridden && callGasLimit >= CALL_GAS_MAX) return CALL_GAS_MAX;
    const same = (execution: Execution | undefined): boolean =>
      execution?.succeeded === true && execution.gasUsed === plenty.gasUsed;
    if (callGasLimit < CALL_GAS_MAX) {
      if (check && same(executionOf(check))) return callGasLimit;
      const limit = await this.searchExecution(request, callGasLimit, same);
      if (request.isOverridden) return limit ?? CALL_GAS_MAX;
      // Right below the maximum, the gas used depends on the gas left: then only success counts.
      if (limit !== undefined && limit < CALL_GAS_MAX / 2n) return withMargin(limit);
    }
    const succeeds = (execution: Execution | undefined): boolean => execution?.succeeded === true;
    return withMargin((await this.searchExecution(request, CALL_GAS_MIN, succeeds)) ?? CALL_GAS_MAX);
  }

  private searchExecution(
    request: EstimationRequest,
    low: bigint,
    suffices: (execution: Execution | undefined) => boolean,
  ): Promise<bigint | undefined> {
    return searchOf(request)({ low, high: CALL_GAS_MAX }, async (limits) => {
      const simulations = await this.simulations.ask(limits.map((limit) => this.limited(request, PLENTY, limit)));
      return simulations.map((simulation) => suffices(executionOf(simulation)));
    });
  }

  private async searchValidation(request: EstimationRequest, { ...found }: Validation): Promise<Validation> {
    const names = ['verificationGasLimit', 'paymasterVerificationGasLimit'] as const;
    for (const name of request.operation.paymaster ? names : names.slice(0, 1)) {
      const limit = await searchOf(request)({ low: found[name], high: VALIDATION_GAS_MAX }, async (limits) => {
        const tried = limits.map((gas) => this.limited(request, { ...PLENTY, [name]: gas }, 0n));
        return (await this.simulations.ask(tried)).map(({ kind }) => kind === 'valid');
      });
      if (limit !== found[name]) found[name] = withMargin(limit ?? VALIDATION_GAS_MAX);
    }
    return found;
  }

  /** Simulates the operation without paymaster and fees, so that its account keeps its balance, and its call after it. */
  private bare(request: EstimationRequest): SimulationRequest {
    const { operation } = request;
    const limited = { ...withFee(operation, 0n), verificationGasLimit: VALIDATION_GAS_MAX, paymaster: undefined };
    const call = { address: operation.sender, data: executedCallData(operation, this.chain) };
    return { ...request, operation: limited, ...(call.data === '0x' ? {} : { target: call }) };
  }

  /** Simulates the operation with limits. Its call comes after it, to have its result; the operation's own gets no gas. */
  private limited(request: EstimationRequest, validation: Validation, callGasLimit: bigint): SimulationRequest {
    const { operation, stateOverride: theirs = {} } = request;
    const { sender, paymaster } = operation;
    const probe = executionProbe(operation, callGasLimit, this.chain);
    const limited = withFee(operation, paymaster ? 1n : HIGH_FEE);
    const payer = paymaster ? {} : { [sender]: { ...(theirs[sender] as object | undefined), balance: MUCH_WEI } };
    return {
      ...request,
      operation: {
        ...limited,
        verificationGasLimit: validation.verificationGasLimit,
        paymaster: paymaster && {
          ...paymaster,
          verificationGasLimit: validation.paymasterVerificationGasLimit,
          // With a stub for it, the sum may be more gas than a node gives to a call.
          postOpGasLimit: paymaster.postOpGasLimit < CALL_GAS_MAX ? paymaster.postOpGasLimit : CALL_GAS_MAX,
        },
      },
      target: probe.target,
      stateOverride: { ...theirs, ...payer, ...probe.stateOverride },
    };
  }
}

const withFee = (operation: UserOperation, fee: bigint): UserOperation => ({
  ...operation,
  callGasLimit: 0n,
  preVerificationGas: 0n,
  maxFeePerGas: fee,
  maxPriorityFeePerGas: fee,
});

const searchOf = ({ isOverridden = false }: EstimationRequest) => (isOverridden ? searchLimitOnce : searchLimit);

const executionOf = (simulation: Simulation): Execution | undefined =>
  simulation.kind === 'valid' ? readExecution(simulation.targetResult) : undefined;

const requireValid = (simulation: Simulation | undefined): Valid => {
  if (simulation?.kind === 'valid') return simulation;
  const { reason = '', revertData = '0x' } = simulation ?? {};
  const detail = reason === '' ? 'validation reverts without a reason of the EntryPoint' : reason;
  throw new Refusal('user_op_rejected', detail, { members: { reason, revertData } });
};

const reverted = (reason: string, revertData: string): Refusal =>
  new Refusal('execution_reverted', `the call would revert: ${reason}`, { members: { reason, revertData } });
