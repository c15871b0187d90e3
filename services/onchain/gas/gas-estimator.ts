import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import { reasonOf } from '../domain/revert-reason.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { executedCallData, executionProbe, readExecution, type Execution } from './execution-probe.ts';
import type { GatheredRequests } from './gathered-requests.ts';
import type { OperationsChain, Simulation, SimulationRequest } from './operations-chain.ts';
import { searchLimit, searchLimitOnce } from './search-limit.ts';

/** Of an operation, in gas. Those of the paymaster are 0 without one. */
export interface GasLimits {
  callGasLimit: bigint;
  verificationGasLimit: bigint;
  paymasterVerificationGasLimit: bigint;
  paymasterPostOpGasLimit: bigint;
}

/** Limits and fees of the operation do not count, and the signatures may be stubs. */
export interface EstimationRequest extends Pick<SimulationRequest, 'operation' | 'asDeployed' | 'stateOverride'> {
  /** Whether the state is overridden by somebody else, who may make each try as long as it can be: then there is one round. */
  isOverridden?: boolean;
}

export type Simulations = GatheredRequests<SimulationRequest, Simulation>;
type Valid = Extract<Simulation, { kind: 'valid' }>;
/** How validation is limited. */
type Validation = Pick<GasLimits, 'verificationGasLimit' | 'paymasterVerificationGasLimit'>;

/** With validation and what the EntryPoint keeps back, as much as one transaction may have since Osaka (2^24). */
export const CALL_GAS_MAX = 15_000_000n;
const VALIDATION_GAS_MAX = 4_000_000n;
/** Less than any call takes. */
const CALL_GAS_MIN = 2_000n;
/** What the EntryPoint takes to look into the deposit of an account that pays for itself. */
const DEPOSIT_GAS = 2_300n;
const PLENTY: Validation = {
  verificationGasLimit: VALIDATION_GAS_MAX,
  paymasterVerificationGasLimit: VALIDATION_GAS_MAX,
};
/** High enough that an account pays although it has a deposit, for paying takes gas; and it is given enough. */
const HIGH_FEE = 10n ** 15n;
const MUCH_WEI = `0x1${'0'.repeat(32)}`;

const withMargin = (gas: bigint): bigint => gas + gas / 32n;

/** Finds limits of gas with which operations succeed as they do with plenty of it. */
export class GasEstimator {
  constructor(
    private readonly chain: Pick<OperationsChain, 'entryPoint' | 'chainId'>,
    private readonly simulations: Pick<Simulations, 'ask'>,
  ) {}

  /**
   * What the sender has does not matter, but for the value that it sends. The limit of `postOp` stays as it is.
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
   * Where calls are given 63/64 of the gas, or running out of gas is caught, or gas is asked for, what is used is not
   * enough. An execution that uses as much gas as it does with plenty of it is taken for the same.
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
      // What differs right below the maximum depends on the gas that there is: then success alone counts.
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

  /** The operation without a paymaster and fees, so that its account has what it has, and its call after it. */
  private bare(request: EstimationRequest): SimulationRequest {
    const { operation } = request;
    const limited = { ...withFee(operation, 0n), verificationGasLimit: VALIDATION_GAS_MAX, paymaster: undefined };
    const call = { address: operation.sender, data: executedCallData(operation, this.chain) };
    return { ...request, operation: limited, ...(call.data === '0x' ? {} : { target: call }) };
  }

  /** The operation with limits. Its call follows it, for only so it says how it went; its own is given no gas. */
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
          // A stub for it may be more than a node gives to a call.
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
