import { userStream } from '../../../schemas/events/user-events.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import type { Transactor } from '../../../shared/event-store/transact.ts';
import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { createAccountData, executeCall, type AccountCall } from '../domain/account-calls.ts';
import type { ForkRules } from '../domain/fork-rules.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../domain/operation-hash.ts';
import { preVerificationGas } from '../domain/pre-verification-gas.ts';
import { refusedBy } from '../domain/sponsorship-policy.ts';
import type { SmartAccount } from '../domain/smart-account.ts';
import { isErased, userFold } from '../domain/user.ts';
import { nonceOf, nonceParts, type UserOperation } from '../domain/user-operation.ts';
import type { AccountNonces, NoncesInUse } from './account-nonces.ts';
import type { GasEstimator, GasLimits } from './gas-estimator.ts';
import type { AccountState } from './operations-chain.ts';
import type { ChainNow, ServedChain } from './served-chains.ts';
import { SUGGESTED_TIP_MAX } from './served-chains.ts';
import type { SmartAccounts } from './smart-accounts.ts';

/** A key that no account uses: validation takes the gas of a new one. */
const NEW_KEY = 2n ** 191n;
/** What the first nonce of a key takes more than the later ones: a slot is written that was zero. */
const NEW_KEY_GAS = 17_100n;

/** What a user's account is to do on a chain. */
export interface Draft {
  chain: ServedChain;
  account: SmartAccount;
  state: AccountState;
  nonces: NoncesInUse;
  now: ChainNow;
  estimator: GasEstimator;
  /** Its limits are not found yet, and its signatures are stubs. */
  operation: UserOperation;
  /** What it sends along. */
  valueWei: bigint;
}

export interface DraftTerms {
  call: AccountCall | undefined;
  /** `undefined`: as the node suggests it. */
  tip: bigint | undefined;
  /** `undefined`: the account pays. */
  paymaster: string | undefined;
  /** That of the chain where nobody waits for an answer. */
  estimator: GasEstimator;
}

/** Makes operations of what users want to do. */
export class OperationDrafts {
  constructor(
    private readonly transactor: Transactor,
    private readonly accounts: SmartAccounts,
    private readonly nonces: AccountNonces,
  ) {}

  /** Returns a user's account on a chain. @throws Refusal user_erased, user_not_found, chain_not_supported */
  async accountOf(userId: string, chainId: number): Promise<SmartAccount> {
    const { state: user } = await this.transactor.load(userStream(userId), userFold);
    if (isErased(user)) throw new Refusal('user_erased', 'this user was erased');
    const known = user.entity?.smartAccounts ?? [];
    const ofChain = (accounts: readonly SmartAccount[]) => accounts.find((one) => one.chainId === chainId);
    const account = ofChain(known) ?? ofChain(await this.accounts.missing(userId, known));
    if (!account) throw new Refusal('chain_not_supported', `chain ${String(chainId)} is not served here`);
    return account;
  }

  /** @param callData `0x` does nothing. @throws Refusal dependency_unavailable where the chain does not answer */
  async draft(
    chain: ServedChain,
    account: SmartAccount,
    { call, tip, paymaster, estimator }: DraftTerms,
  ): Promise<Draft> {
    const { address: sender, chainId } = account;
    const [now, [state], nonces] = await askChain(chain, () =>
      Promise.all([chain.now(), chain.accounts.ask([sender]), this.nonces.inUse({ chainId, sender })]),
    );
    if (!state) throw unavailable('the chain did not tell the state of the account', undefined);
    const operation: UserOperation = {
      sender,
      nonce: nonceOf(NEW_KEY, 0n),
      factory: undefined,
      callData: call ? executeCall(call) : '0x',
      callGasLimit: 0n,
      verificationGasLimit: 0n,
      preVerificationGas: 0n,
      ...feesAt(now, tip, chain.feeCap),
      paymaster:
        paymaster === undefined
          ? undefined
          : { address: paymaster, verificationGasLimit: 0n, postOpGasLimit: 0n, data: STUB_PAYMASTER_DATA },
      signature: STUB_SIGNATURE,
    };
    return { chain, account, state, nonces, now, estimator, operation, valueWei: call?.value ?? 0n };
  }

  /**
   * Finds the limits of an operation, with the gas that a new key takes.
   * @param deploys whether it is the one that deploys the account
   * The account is taken to have what it sends.
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
      return await askChain(chain, async () => {
        const limits = limited(whole, await estimator.estimate(request));
        return { ...limits, preVerificationGas: await chain.preVerificationGas(limits) };
      });
    } catch (error) {
      const { code, members } = error instanceof Refusal ? error : {};
      // The EntryPoint: the paymaster's deposit is too low, whatever is reserved.
      if (code === 'user_op_rejected' && String(members?.reason).startsWith('AA31')) throw refusedBy('deposit');
      throw error;
    }
  }
}

/** Whether the account is to be deployed by the next operation. */
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
  // What it has more is for the fee of a rollup, which is the same with this nonce.
  const dataFeeGas = operation.preVerificationGas - preVerificationGas(operation, rules);
  return { ...whole, preVerificationGas: preVerificationGas(whole, rules) + dataFeeGas };
};

/** @throws Refusal dependency_unavailable where the chain does not answer */
export const askChain = async <Answer>(chain: ServedChain, ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    throw unavailable(`chain ${String(chain.settings.chainId)} does not answer`, error);
  }
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

const feesAt = ({ head, tip: suggested }: ChainNow, wanted: bigint | undefined, feeCap: bigint) => {
  const tip = wanted ?? least(suggested, SUGGESTED_TIP_MAX);
  return {
    maxFeePerGas: least(2n * head.baseFeePerGas + tip, feeCap),
    maxPriorityFeePerGas: least(tip, feeCap),
  };
};

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
