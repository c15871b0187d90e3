import { Refusal } from '../../../shared/errors/refusal.ts';
import { callsOf } from '../domain/account-calls.ts';
import type { Transaction } from '../domain/transaction.ts';
import { maxCostOf } from '../domain/user-operation.ts';
import type { Draft } from './operation-drafts.ts';

/**
 * The account pays for the gas itself, and has to have it beyond what its other unfinished sends may take.
 * @throws Refusal insufficient_funds
 */
export const requireFunds = ({ state, nonces, operation }: Draft, value: bigint): void => {
  const unfinished = nonces.transactions.filter(({ status }) => status === 'submitted');
  const others = unfinished.map(mayTake).reduce((sum, wei) => sum + wei, 0n);
  const missing = value + maxCostOf(operation) + others - state.wei - state.depositWei;
  if (missing <= 0n) return;
  throw new Refusal(
    'insufficient_funds',
    `the account ${operation.sender} lacks ${String(missing)} wei: send it some`,
    {
      members: { missing: String(missing) },
    },
  );
};

const mayTake = ({ submission }: Transaction): bigint => {
  const { sponsor, maxCostWei, operation } = submission;
  const values = (callsOf(operation.callData) ?? []).map(({ value }) => value).reduce((sum, wei) => sum + wei, 0n);
  return values + (sponsor ? 0n : BigInt(maxCostWei));
};
