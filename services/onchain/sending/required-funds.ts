import { Refusal } from '../../../shared/errors/refusal.ts';
import { readAccountCalls } from '../../../shared/chain/identifiers/account-call.ts';
import type { Transaction } from '../transactions/domain/transaction.ts';
import { maxCostOf } from '../operations/domain/user-operation.ts';
import type { Draft } from '../transactions/operation-drafts.ts';

/**
 * Requires that the account has the value that it sends, and the gas if it pays itself, beyond the maximum of its other
 * unfinished sends. Its deposit in the EntryPoint pays for gas only.
 * @throws Refusal insufficient_funds
 */
export const requireFunds = ({ state, nonces, operation, valueWei }: Draft): void => {
  if (operation.paymaster && valueWei === 0n) return;
  const unfinished = nonces.transactions.filter(({ status }) => status === 'submitted');
  const gasWei = sum(unfinished.map(gasOf)) + (operation.paymaster ? 0n : maxCostOf(operation));
  const fromBalance = gasWei > state.depositWei ? gasWei - state.depositWei : 0n;
  const missing = valueWei + sum(unfinished.map(valueOf)) + fromBalance - state.wei;
  if (missing <= 0n) return;
  throw new Refusal(
    'insufficient_funds',
    `the account ${operation.sender} lacks ${String(missing)} wei: send it some`,
    {
      members: { missing: String(missing) },
    },
  );
};

const valueOf = ({ submission: { operation } }: Transaction): bigint =>
  sum((readAccountCalls(operation.callData) ?? []).map(({ value }) => value));
const gasOf = ({ submission: { sponsor, maxCostWei } }: Transaction): bigint => (sponsor ? 0n : BigInt(maxCostWei));
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, wei) => total + wei, 0n);
