import type { SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { UserOperation } from './user-operation.ts';

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

/** What an operation is answered that a rule refuses. */
export const refusedBy = (rule: SponsorshipRule): Refusal =>
  new Refusal('sponsorship_refused', REFUSALS[rule], { members: { rule } });

/** What an account is to call. */
export interface Call {
  to: string;
  value: bigint;
  /** `0x` hex in any letter case. */
  data: string;
}

interface SponsoredCalls {
  /** Of the app that pays, for the chain. */
  policy: SponsorshipPolicy | undefined;
  payingAppId: string;
  sessionAppId: string;
  /** `undefined` of an operation that is neither `execute` nor `executeBatch` of our account. */
  calls: readonly Call[] | undefined;
}

/** Returns the rule that refuses, of those that need no estimate; `undefined` when they all allow it. */
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

const ruleAgainstCall = ({ allow }: SponsorshipPolicy, { to, data }: Call): 'target' | 'selector' | undefined => {
  const ofTarget = allow.filter(({ target }) => target.toLowerCase() === to.toLowerCase());
  if (ofTarget.length === 0) return 'target';
  // One to three bytes are no selector that a policy could list.
  const selector = data.slice(0, 10).toLowerCase();
  return ofTarget.some(({ selectors }) => selectors?.includes(selector) ?? true) ? undefined : 'selector';
};

/** @param maxCostWei what the operation can cost at most */
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
 * The rule for an operation over `/rpc`: whoever bundles it is paid `preVerificationGas` and a tenth of the unused call gas from
 * the deposit, at its fees, and nobody may gain by that.
 * @param needed what we ask of a sender, what simulation needs, and the highest fees that anybody has a reason to offer
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

/** The rule for a send, of which only the tip is the caller's. @param tipMax what blocks are paid */
export const ruleAgainstTip = (tip: bigint, tipMax: bigint): 'gas' | undefined => (tip > tipMax ? 'gas' : undefined);

/** Returns the highest fees that anybody has a reason to offer. */
export const feesAtMost = ({ baseFeePerGas, tipMax }: { baseFeePerGas: bigint; tipMax: bigint }) => ({
  maxFeePerGas: 3n * baseFeePerGas + tipMax,
  maxPriorityFeePerGas: tipMax,
});
