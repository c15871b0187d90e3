import { rpcCodes } from '../../../../schemas/rpc/rpc-messages.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { accountImplementation } from '../../smart-accounts/domain/smart-account.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type { CountedSimulations } from '../../served-chains/counted-simulations.ts';
import type { ServedChain } from '../../served-chains/served-chains.ts';
import type { Simulation, ValidationData } from '../../chain/operations-chain.ts';
import type { RpcContext } from './rpc-context.ts';
import { RpcError, validationRefused } from './rpc-error.ts';

const EXPIRES_WITHIN_SECONDS = 30;

type Valid = Extract<Simulation, { kind: 'valid' }>;

/** Runs the validation of an operation on the current state of the chain. @throws RpcError, ChainUnavailable */
export const validate = async (
  operation: UserOperation,
  { chain, caller }: Pick<RpcContext, 'chain' | 'caller'>,
  { simulations, clock }: { simulations: CountedSimulations; clock: Pick<Clock, 'now'> },
): Promise<Valid> => {
  const [simulation] = await simulations.ofSend(chain, holderKey(caller), [{ operation }]);
  const ofPaymaster = operation.paymaster?.address;
  requireValid(simulation, ofPaymaster);
  const { account, paymaster } = simulation;
  if (account.failed) throw validationRefused('AA24 signature error', '0x', ofPaymaster);
  if (paymaster.failed) throw validationRefused('AA34 signature error', '0x', ofPaymaster);
  const { head } = await chain.now();
  const nowSeconds = Math.max(Math.floor(clock.now() / 1_000), head.timestamp);
  requireTime(account, { nowSeconds, text: 'AA22 expired or not due', paymaster: undefined });
  requireTime(paymaster, { nowSeconds, text: 'AA32 paymaster expired or not due', paymaster: ofPaymaster });
  return simulation;
};

/** @throws RpcError */
export function requireValid(
  simulation: Simulation | undefined,
  paymaster: string | undefined,
): asserts simulation is Valid {
  if (simulation?.kind === 'valid') return;
  const { reason = '', revertData = '0x' } = simulation ?? {};
  throw validationRefused(reason, revertData, paymaster);
}

const requireTime = (
  { until, after }: ValidationData,
  { nowSeconds, text, paymaster }: { nowSeconds: number; text: string; paymaster: string | undefined },
): void => {
  const isOver = until !== 0 && until < nowSeconds + EXPIRES_WITHIN_SECONDS;
  if (!isOver && after <= nowSeconds) return;
  const what = isOver ? `expires within ${String(EXPIRES_WITHIN_SECONDS)} s, or has` : 'is not due';
  throw new RpcError(rpcCodes.expired, `${text}: the signature ${what}`, {
    validUntil: until,
    validAfter: after,
    ...(paymaster !== undefined && { paymaster }),
  });
};

/** Whether an operation's account is a proxy of our factory with its original implementation: read again each time. */
export const isOurAccount = async (chain: ServedChain, { sender, factory }: UserOperation): Promise<boolean> => {
  const { accountFactory } = chain.settings;
  if (factory) return factory.address === accountFactory;
  const [implementation] = await chain.implementations.ask([sender]);
  return implementation === accountImplementation(accountFactory);
};
