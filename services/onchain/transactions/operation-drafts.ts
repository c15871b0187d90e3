import { type AssignedAccount, userStream } from '../../../schemas/events/account/user-events.ts';
import { invalid, Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { AccountCall } from '../../../shared/chain/identifiers/account-call.ts';
import { least } from '../operations/domain/amounts.ts';
import { createAccountData, executeCall } from '../operations/domain/account-calls.ts';
import type { ForkRules } from '../operations/domain/fork-rules.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../operations/domain/operation-hash.ts';
import { tipWithin } from '../operations/domain/operation-bounds.ts';
import { preVerificationGas } from '../operations/domain/pre-verification-gas.ts';
import { refusedBy } from '../sponsorship-policy/domain/sponsorship-policy.ts';
import { accountHolderFold } from '../smart-accounts/domain/account-holder.ts';
import { nonceOf, nonceParts, type UserOperation } from '../operations/domain/user-operation.ts';
import type { AccountNonces, NoncesInUse } from './account-nonces.ts';
import type { GasEstimator, GasLimits } from '../gas/gas-estimator.ts';
import { askChain } from '../chain/ask-chain.ts';
import type { AccountState } from '../chain/operations-chain.ts';
import type { ChainNow, ServedChain } from '../served-chains/served-chains.ts';
import type { SmartAccounts } from '../smart-accounts/smart-accounts.ts';

/** A key that no account uses: with it, validation takes the gas of a new key. */
const NEW_KEY = 2n ** 191n;
/** The gas that the first nonce of a key takes beyond later ones: a zero slot is written. */
const NEW_KEY_GAS = 17_100n;

/** An operation that is being prepared for a user's account. */
export interface Draft {
  chain: ServedChain;
  account: AssignedAccount;
  state: AccountState;
  nonces: NoncesInUse;
  now: ChainNow;
  estimator: GasEstimator;
  /** Without gas limits yet; its signatures are stubs. */
  operation: UserOperation;
  /** The value that its call sends. */
  valueWei: bigint;
}

export interface DraftTerms {
  call: AccountCall | undefined;
  /** Wei per gas. `undefined`: what the chain asks for. */
  tip: bigint | undefined;
  /** `undefined`: the account pays. */
  paymaster: string | undefined;
  /** The chain's own estimator if no caller waits for an answer. */
  estimator: GasEstimator;
}

/** Prepares operations for the calls of users. */
export class OperationDrafts {
  constructor(
    private readonly transactor: Transactor,
    private readonly accounts: SmartAccounts,
    private readonly nonces: AccountNonces,
  ) {}

  /** Returns a user's account on a chain. @throws Refusal user_erased, user_not_found, chain_not_supported */
  async accountOf(userId: string, chainId: number): Promise<AssignedAccount> {
    const { state: holder } = await this.transactor.load(userStream(userId), accountHolderFold);
    if (holder.isErased) throw new Refusal('user_erased', 'this user was erased');
    const ofChain = (accounts: readonly AssignedAccount[]) => accounts.find((one) => one.chainId === chainId);
    const account = ofChain(holder.accounts) ?? ofChain(await this.accounts.missing(userId, holder.accounts));
    if (!account) throw new Refusal('chain_not_supported', `chain ${String(chainId)} is not served here`);
    return account;
  }

  /**
   * @param call `undefined`: the operation does nothing
   * @throws Refusal dependency_unavailable if the chain does not answer, validation_failed if nobody may offer this tip
   */
  async draft(
    chain: ServedChain,
    account: AssignedAccount,
    { call, tip, paymaster, estimator }: DraftTerms,
  ): Promise<Draft> {
    const { address: sender, chainId } = account;
    const [now, [state], nonces] = await askChain(chainId, () =>
      Promise.all([chain.now(), chain.accounts.ask([sender]), this.nonces.inUse({ chainId, sender })]),
    );
    if (!state) throw unavailable('the chain did not tell the state of the account', undefined);
    const { feeCap } = chain;
    const { tip: maxPriorityFeePerGas, fault } = tipWithin(tip ?? now.tips.asked, { feeCap, tips: now.tips });
    if (fault !== undefined) throw invalid({ path: 'transactionReq.maxPriorityFeePerGas', message: fault });
    const operation: UserOperation = {
      sender,
      nonce: nonceOf(NEW_KEY, 0n),
      factory: undefined,
      callData: call ? executeCall(call) : '0x',
      callGasLimit: 0n,
      verificationGasLimit: 0n,
      preVerificationGas: 0n,
      maxFeePerGas: least(2n * now.head.baseFeePerGas + maxPriorityFeePerGas, feeCap),
      maxPriorityFeePerGas,
      paymaster:
        paymaster === undefined
          ? undefined
          : { address: paymaster, verificationGasLimit: 0n, postOpGasLimit: 0n, data: STUB_PAYMASTER_DATA },
      signature: STUB_SIGNATURE,
    };
    return { chain, account, state, nonces, now, estimator, operation, valueWei: call?.value ?? 0n };
  }

  /**
   * Finds the gas limits of an operation, as for a new nonce key.
   * @param deploys whether the operation deploys the account
   * The account is assumed to have the value that it sends.
   * @throws Refusal execution_reverted, user_op_rejected, sponsorship_refused, dependency_unavailable
   */
  async withLimits(draft: Draft, deploys: boolean): Promise<UserOperation> {
    const { chain, account, state, operation, valueWei, estimator } = draft;
    const { owner, factory, address } = account;
    const whole = { ...operation, factory: deploys ? { address: factory, data: createAccountData(owner) } : undefined };
    const isAsIs = deploys || state.hasCode;
    const balance = `0x${valueWei.toString(16)}`;
    const request = {
      operation: whole,
      ...(!isAsIs && { asDeployed: { address, owner } }),
      ...(valueWei > state.wei && { stateOverride: { [address]: { balance } } }),
    };
    try {
      return await askChain(account.chainId, async () => {
        const limits = limited(whole, await estimator.estimate(request));
        return { ...limits, preVerificationGas: await chain.preVerificationGas(limits) };
      });
    } catch (error) {
      const { code, members } = error instanceof Refusal ? error : {};
      // The EntryPoint refuses: the paymaster's deposit is too low, whatever is reserved.
      if (code === 'user_op_rejected' && String(members?.reason).startsWith('AA31')) throw refusedBy('deposit');
      throw error;
    }
  }
}

/** Whether the next operation has to deploy the account. */
export const needsDeploying = ({ state, nonces }: Pick<Draft, 'state' | 'nonces'>): boolean => {
  if (state.hasCode) return false;
  const deploying = nonces.transactions.find(({ submission }) => submission.operation.factory !== null);
  return !deploying || deploying.status === 'dropped';
};

/** Gives an operation its nonce. */
export const withNonce = (operation: UserOperation, nonce: bigint, rules: ForkRules): UserOperation => {
  const isNewKey = nonceParts(nonce).sequence === 0n;
  const verificationGasLimit = operation.verificationGasLimit - (isNewKey ? 0n : NEW_KEY_GAS);
  const whole = { ...operation, nonce, verificationGasLimit };
  // The rest is for the data fee of a rollup, which is the same with this nonce.
  const dataFeeGas = operation.preVerificationGas - preVerificationGas(operation, rules);
  return { ...whole, preVerificationGas: preVerificationGas(whole, rules) + dataFeeGas };
};

const limited = (operation: UserOperation, limits: GasLimits): UserOperation => {
  const { callGasLimit, verificationGasLimit, paymasterVerificationGasLimit, paymasterPostOpGasLimit } = limits;
  const { paymaster } = operation;
  return {
    ...operation,
    callGasLimit,
    verificationGasLimit,
    paymaster: paymaster && {
      ...paymaster,
      verificationGasLimit: paymasterVerificationGasLimit,
      postOpGasLimit: paymasterPostOpGasLimit,
    },
  };
};
