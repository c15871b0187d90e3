import type { TransactionRequest } from '../../../schemas/http/onchain/onchain-routes.ts';
import { readAddress } from '../../../shared/chain/identifiers/address.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import type { AccountCall } from '../../../shared/chain/identifiers/account-call.ts';

/** @throws Refusal validation_failed */
export const readCall = ({ transactionReq }: TransactionRequest): AccountCall & { tip: bigint | undefined } => {
  const { value, data, maxPriorityFeePerGas } = transactionReq;
  const to = readAddress(transactionReq.to);
  if (to === undefined) throw invalid({ path: 'transactionReq.to', message: 'does not have its EIP-55 checksum' });
  return {
    to,
    value: BigInt(value),
    data,
    tip: maxPriorityFeePerGas === undefined ? undefined : BigInt(maxPriorityFeePerGas),
  };
};
