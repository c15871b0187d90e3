import { ownerDigest, paymasterDigest, userOpHash as hashOf } from '../../operations/domain/operation-hash.ts';
import { accountAddress } from '../../smart-accounts/domain/smart-account.ts';
import { maxCostOf, nonceParts, type UserOperation } from '../../operations/domain/user-operation.ts';
import type { OperationInclusion, ValidationData } from '../../chain/operations-chain.ts';
import { readExecute } from './read-execute.ts';
import { recoverAddress } from './recover-address.ethers.ts';
import { named, type SimulatedState } from './simulated-state.ts';

/** The contracts of a simulated chain. */
export interface SimulatedContracts {
  chainId: number;
  entryPoint: string;
  factory: string;
  /** The implementation behind the proxies that the factory deploys. */
  implementation: string;
  paymaster: { address: string; signer: string };
  /** Contracts that revert every call, with their revert data. */
  refusing: ReadonlyMap<string, string>;
}

/** Gas of an operation: `verification` includes the paymaster's validation, `execution` is the rest. */
export interface OperationGas {
  verification: bigint;
  execution: bigint;
}
export type GasOf = (operation: UserOperation, facts: { freshKey: boolean; hasValue: boolean }) => OperationGas;

/** The block in which operations are executed. */
export interface BlockContext {
  timestamp: number;
  baseFeePerGas: bigint;
}

export interface Validated {
  operation: UserOperation;
  userOpHash: string;
  prefund: bigint;
  gas: OperationGas;
  account: ValidationData;
  paymaster: ValidationData;
}
export type Executed = Omit<OperationInclusion, 'blockNumber' | 'blockHash' | 'transactionHash' | 'logIndex'>;

/** The paymaster data of an operation. */
interface Payer {
  signer: string | undefined;
  until: number;
  after: number;
}

/** The facts that follow from an operation alone. */
interface Reading {
  userOpHash: string;
  owner: string | undefined;
  payer: Payer | undefined;
}

/** `FailedOp` without an index. A reason of `undefined` is a revert without data. */
export class ValidationFailed extends Error {
  override readonly name = 'ValidationFailed';
  constructor(readonly reason: string | undefined) {
    super(reason);
  }
}

const ANY_TIME: ValidationData = { failed: false, after: 0, until: 0 };
const NO_ADDRESS = `0x${'0'.repeat(40)}`;
const PENALTY_OF_TEN = 10n;
/** `createAccount(address,uint256)` with an owner and salt 0. */
export const CREATE_ACCOUNT = /^0x5fbfb9cf0{24}([0-9a-f]{40})0{64}$/;
/** The paymaster data: valid until, valid after, and the signature. */
const PAYMASTER_DATA = /^0x([0-9a-f]{64})([0-9a-f]{64})([0-9a-f]{130})$/;

/** EntryPoint v0.7 with one account factory and one verifying paymaster. Models money, nonces and refusals. */
export class SimulatedEntryPoint {
  private readonly signers = new Map<string, string | undefined>();
  private readonly readings = new WeakMap<UserOperation, Reading>();
  /** By account. An owner never changes. */
  private readonly owners = new Map<string, string>();

  constructor(
    private readonly contracts: SimulatedContracts,
    private readonly state: SimulatedState,
    private readonly gasOf: GasOf,
  ) {}

  /** Notes the signer of a signature: recovering the signer takes longer than everything else for an operation. */
  noteSigner({ digest, signature, signer }: { digest: Buffer; signature: string; signer: string }): void {
    this.signers.set(signatureKey(digest, signature), signer);
  }

  /** Returns the address of an owner's account, and remembers the owner. */
  accountOf(owner: string): string {
    let address = this.accounts.get(owner);
    if (address === undefined) {
      this.accounts.set(owner, (address = accountAddress(this.contracts.factory, owner)));
      this.owners.set(address, owner);
    }
    return address;
  }
  private readonly accounts = new Map<string, string>();

  /** Validates an operation as `handleOps` does, and changes the state. @throws ValidationFailed */
  validate(operation: UserOperation, block: BlockContext): Validated {
    const validated = this.prepay(operation);
    requireDue(validated.account, block, { signature: 'AA24 signature error', time: 'AA22 expired or not due' });
    const reasons = { signature: 'AA34 signature error', time: 'AA32 paymaster expired or not due' };
    requireDue(validated.paymaster, block, reasons);
    return validated;
  }

  /** Validates without checking signers and times. @throws ValidationFailed */
  prepay(operation: UserOperation): Validated {
    const { state } = this;
    const { sender, paymaster, verificationGasLimit } = operation;
    const { userOpHash, owner, payer } = this.readingOf(operation);
    const prefund = maxCostOf(operation);
    if (operation.factory) this.create(operation, operation.factory);
    if (state.get(named.code(sender)) === 0n) throw new ValidationFailed(undefined);
    const account = this.checkAccount(operation, owner);
    if (!paymaster) this.takePrefund(sender, prefund);
    const { key, sequence } = nonceParts(operation.nonce);
    const next = state.get(named.sequence(sender, key));
    if (next !== sequence) throw new ValidationFailed('AA25 invalid account nonce');
    const hasValue = (readExecute(operation.callData)?.wei ?? 0n) > 0n;
    const gas = this.gasOf(operation, { freshKey: next === 0n, hasValue });
    state.set(named.sequence(sender, key), next + 1n);
    if (gas.verification > verificationGasLimit + (paymaster?.verificationGasLimit ?? 0n)) {
      throw new ValidationFailed('AA26 over verificationGasLimit');
    }
    const paymasterData = paymaster ? this.checkPaymaster(paymaster, payer, prefund) : ANY_TIME;
    return { operation, userOpHash, prefund, gas, account, paymaster: paymasterData };
  }

  /** Executes a validated operation. Returns the data of its UserOperationEvent. */
  execute({ operation, userOpHash, prefund, gas }: Validated, { baseFeePerGas }: BlockContext): Executed {
    const { state } = this;
    const { sender, nonce, paymaster, callData, callGasLimit, maxFeePerGas, maxPriorityFeePerGas } = operation;
    const mark = state.mark();
    const answer = this.call(sender, callData);
    let success = answer === undefined && gas.execution <= callGasLimit;
    if (!success) state.goBack(mark);
    const preOpGas = operation.preVerificationGas + gas.verification;
    const unused = callGasLimit + (paymaster?.postOpGasLimit ?? 0n) - gas.execution;
    const actualGasUsed = preOpGas + gas.execution + (unused > 0n ? unused / PENALTY_OF_TEN : 0n);
    let actualGasCost = actualGasUsed * priceOf({ maxFeePerGas, maxPriorityFeePerGas, baseFeePerGas });
    if (actualGasCost > prefund) {
      actualGasCost = prefund;
      success = false;
      state.goBack(mark);
    }
    state.add(named.deposit(paymaster?.address ?? sender), prefund - actualGasCost);
    state.add(named.executions(userOpHash), 1n);
    const payer = paymaster?.address ?? NO_ADDRESS;
    const revertReason = answer === undefined || answer === '0x' ? undefined : answer;
    const event = { userOpHash, sender, nonce, paymaster: payer, success, actualGasCost, actualGasUsed };
    return { ...event, deployed: operation.factory !== undefined, revertReason };
  }

  /** Calls the account. Returns its revert data; `undefined` on success. */
  call(sender: string, callData: string): string | undefined {
    const { state, contracts } = this;
    if (callData === '0x') return undefined;
    const executed = readExecute(callData);
    if (!executed) return '0x';
    if (state.get(named.wei(sender)) < executed.wei) return '0x';
    const refusal = contracts.refusing.get(executed.to);
    if (refusal !== undefined) return refusal;
    state.add(named.wei(sender), -executed.wei);
    state.add(named.wei(executed.to), executed.wei);
    state.add(named.calls(sender, callData), 1n);
    return undefined;
  }

  private create({ sender }: UserOperation, factory: { address: string; data: string }): void {
    if (this.state.get(named.code(sender)) !== 0n) throw new ValidationFailed('AA10 sender already constructed');
    const owner = factory.address === this.contracts.factory ? CREATE_ACCOUNT.exec(factory.data)?.[1] : undefined;
    if (owner === undefined) throw new ValidationFailed('AA13 initCode failed or OOG');
    if (this.accountOf(`0x${owner}`) !== sender) throw new ValidationFailed('AA14 initCode must return sender');
    this.state.set(named.code(sender), 1n);
  }

  private takePrefund(sender: string, prefund: bigint): void {
    const { state } = this;
    const [wei, deposit] = [named.wei(sender), named.deposit(sender)];
    const missing = prefund - state.get(deposit);
    if (missing > state.get(wei)) throw new ValidationFailed("AA21 didn't pay prefund");
    if (missing > 0n) {
      state.add(wei, -missing);
      state.add(deposit, missing);
    }
    state.add(deposit, -prefund);
  }

  private checkAccount({ sender }: UserOperation, signer: string | undefined): ValidationData {
    if (signer === undefined) throw new ValidationFailed('AA23 reverted');
    return { ...ANY_TIME, failed: signer.toLowerCase() !== this.owners.get(sender)?.toLowerCase() };
  }

  private checkPaymaster(
    { address }: NonNullable<UserOperation['paymaster']>,
    payer: Payer | undefined,
    prefund: bigint,
  ): ValidationData {
    const { contracts, state } = this;
    const deposit = named.deposit(address);
    if (state.get(deposit) < prefund) throw new ValidationFailed('AA31 paymaster deposit too low');
    state.add(deposit, -prefund);
    if (address !== contracts.paymaster.address) throw new ValidationFailed(undefined);
    if (payer?.signer === undefined) throw new ValidationFailed('AA33 reverted');
    const { signer, until, after } = payer;
    return { until, after, failed: signer !== contracts.paymaster.signer };
  }

  /** Reads each operation once: simulations and bundles contain the same operation many times. */
  private readingOf(operation: UserOperation): Reading {
    let reading = this.readings.get(operation);
    if (!reading) this.readings.set(operation, (reading = this.read(operation)));
    return reading;
  }

  private read(operation: UserOperation): Reading {
    const { entryPoint, chainId } = this.contracts;
    const userOpHash = hashOf(operation, entryPoint, chainId);
    const owner = this.signerOf(ownerDigest(userOpHash), operation.signature);
    const { paymaster } = operation;
    const [, untilDigits, afterDigits, signature] = PAYMASTER_DATA.exec(paymaster?.data ?? '') ?? [];
    if (!paymaster || signature === undefined) return { userOpHash, owner, payer: undefined };
    const window = { until: Number(`0x${untilDigits ?? ''}`), after: Number(`0x${afterDigits ?? ''}`) };
    const validity = { chainId, validUntil: window.until, validAfter: window.after };
    const signer = this.signerOf(paymasterDigest({ ...operation, paymaster }, validity), `0x${signature}`);
    return { userOpHash, owner, payer: { ...window, signer } };
  }

  private signerOf(digest: Buffer, signature: string): string | undefined {
    const key = signatureKey(digest, signature);
    if (!this.signers.has(key)) this.signers.set(key, recoverAddress(digest, signature));
    return this.signers.get(key);
  }
}

const signatureKey = (digest: Buffer, signature: string): string => digest.toString('latin1') + signature;

const requireDue = (
  { failed, after, until }: ValidationData,
  { timestamp }: BlockContext,
  reasons: { signature: string; time: string },
): void => {
  if (failed) throw new ValidationFailed(reasons.signature);
  if (timestamp < after || (until !== 0 && timestamp > until)) throw new ValidationFailed(reasons.time);
};

/** Returns the price of gas for these fees, of an operation (`getUserOpGasPrice`) or a transaction. */
export const priceOf = (fees: {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  baseFeePerGas: bigint;
}): bigint => {
  const withTip = fees.baseFeePerGas + fees.maxPriorityFeePerGas;
  return withTip < fees.maxFeePerGas ? withTip : fees.maxFeePerGas;
};
