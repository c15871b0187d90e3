import type { SponsorshipPolicy } from '../../../../schemas/events/account/app-events.ts';
import type { AccountCall } from '../../../../shared/chain/identifiers/account-call.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';

const REFUSALS = {
  no_policy: 'the app has no policy for this chain',
  session: 'the session is of another app, and the policy of the app that should pay is for its own sessions',
  target: 'the policy of the app does not list this target',
  selector: 'the policy of the app does not list the first four bytes of this data for this target',
  gas: 'the gas or the fees are far above what the operation needs',
  operation: 'the operation may cost more than the app pays for one',
  user_day: 'with this, the user would exceed what the app pays for one user in a day',
  day: 'with this, the app would exceed what it pays in a day',
  deposit: "the paymaster's deposit does not cover this and what is reserved",
};
export type SponsorshipRule = keyof typeof REFUSALS;

/** Returns the refusal for an operation that violates a rule. */
export const refusedBy = (rule: SponsorshipRule): Refusal =>
  new Refusal('sponsorship_refused', REFUSALS[rule], { members: { rule } });

interface SponsoredCalls {
  /** The policy of the paying app for the chain. */
  policy: SponsorshipPolicy | undefined;
  payingAppId: string;
  sessionAppId: string;
  /** `undefined` for an operation that is not `execute` or `executeBatch` of our account in the standard encoding. */
  calls: readonly AccountCall[] | undefined;
}

/** Applies the rules that need no estimate. Returns the rule that refuses; `undefined` if all of them allow the calls. */
export const ruleAgainstCalls = ({
  policy,
  payingAppId,
  sessionAppId,
  calls,
}: SponsoredCalls): Extract<SponsorshipRule, 'no_policy' | 'session' | 'target' | 'selector'> | undefined => {
  if (!policy) return 'no_policy';
  if (payingAppId !== sessionAppId && !policy.anySession) return 'session';
  if (policy.allow.length === 0) return undefined;
  if (!calls) return 'target';
  const rules = calls.map((call) => ruleAgainstCall(policy, call));
  return rules.find((rule) => rule === 'target') ?? rules.find((rule) => rule === 'selector');
};

const ruleAgainstCall = (
  { allow }: SponsorshipPolicy,
  { to, data }: AccountCall,
): 'target' | 'selector' | undefined => {
  const ofTarget = allow.filter(({ target }) => target.toLowerCase() === to.toLowerCase());
  if (ofTarget.length === 0) return 'target';
  // A policy cannot list one to three bytes as a selector.
  const selector = data.slice(0, 10).toLowerCase();
  return ofTarget.some(({ selectors }) => selectors?.includes(selector) ?? true) ? undefined : 'selector';
};

/** @param maxCostWei the highest possible cost of the operation */
export const ruleAgainstCost = (
  { operationWei }: Pick<SponsorshipPolicy, 'operationWei'>,
  maxCostWei: bigint,
): 'operation' | undefined => (operationWei !== null && maxCostWei > BigInt(operationWei) ? 'operation' : undefined);

/** The gas and the fees that the deposit pays for. */
export type OperationGas = Pick<
  UserOperation,
  'callGasLimit' | 'verificationGasLimit' | 'preVerificationGas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
> & { paymasterVerificationGasLimit: bigint; paymasterPostOpGasLimit: bigint };

/**
 * The rule for an operation over `/rpc`: its bundler is paid `preVerificationGas` and a tenth of the unused call gas from the
 * deposit, at the fees of the operation, and must not gain by that.
 * @param needed our `preVerificationGas`, the limits that simulation needs, and the highest fees that a sender has a reason to offer
 */
export const ruleAgainstGas = (asked: OperationGas, needed: OperationGas): 'gas' | undefined => {
  const isWasteful =
    asked.preVerificationGas * 10n > needed.preVerificationGas * 11n ||
    asked.callGasLimit > needed.callGasLimit * 2n ||
    asked.verificationGasLimit > needed.verificationGasLimit * 2n ||
    asked.paymasterVerificationGasLimit > needed.paymasterVerificationGasLimit * 2n ||
    asked.paymasterPostOpGasLimit > needed.paymasterPostOpGasLimit * 2n ||
    asked.maxFeePerGas > needed.maxFeePerGas ||
    asked.maxPriorityFeePerGas > needed.maxPriorityFeePerGas;
  return isWasteful ? 'gas' : undefined;
};

/** The rule for a send, in which only the tip is chosen by the caller. @param most what the chain asks for */
export const ruleAgainstTip = (tip: bigint, most: bigint): 'gas' | undefined => (tip > most ? 'gas' : undefined);

/** Returns the highest fees that a sender has a reason to offer. @param tip what the chain asks for */
export const feesAtMost = ({ baseFeePerGas, tip }: { baseFeePerGas: bigint; tip: bigint }) => ({
  maxFeePerGas: 3n * baseFeePerGas + tip,
  maxPriorityFeePerGas: tip,
});
