import { randomUUID } from 'node:crypto';
import { Wallet } from 'ethers';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { untilServed, type Answered } from '../../../shared/testing/http/http-caller.ethers.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../operations/domain/operation-hash.ts';
import { maxCostOf, nonceOf, type UserOperation } from '../operations/domain/user-operation.ts';
import { RandomCallsOn, type RandomCalls } from './random-calls.ethers.ts';
import type { OwnedAccount, RpcAnswer, RpcUnderTest } from './rpc-under-test.ethers.ts';
import type { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import type { Sender } from './sends-under-test.ethers.ts';

const ETHER = 10n ** 18n;
const ANSWERED_WITHIN_MS = 30_000;
/** More gas than an estimate tries. */
const PLENTY = { callGasLimit: 15_000_000n, verificationGasLimit: 500_000n, preVerificationGas: 300_000n };
const LIMITS = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] as const;

/** The estimate and the outcome of an operation, as words that are equal if both agree. */
interface EstimatedOutcome {
  estimated: string;
  happened: string;
}
interface EstimatedOperation {
  /** Describes the operation in failures. */
  name: string;
  outcome: () => Promise<EstimatedOutcome>;
}

interface Drawn {
  account: OwnedAccount;
  calls: RandomCalls;
  wei: bigint;
  draft: Partial<UserOperation>;
  isSponsored: boolean;
}

interface UsersCall {
  request: { sponsor: boolean; transactionReq: JsonObject };
  calls: RandomCalls;
  wei: bigint;
}

/** Draws random operations, estimates and sends them over HTTP, and waits for their outcomes. */
export class EstimatedOperations {
  constructor(private readonly rpc: RpcUnderTest) {}

  private get sends() {
    return this.rpc.sends;
  }

  /** Draws an operation that its owner signs, over `/rpc`. If its estimate fails, it is sent with plenty of gas. */
  async overRpc(random: SeededRandom): Promise<EstimatedOperation> {
    const account = this.rpc.account(undefined, new Wallet(random.hash()));
    const [isNew, isSponsored] = [random.chance(0.4), random.chance(0.5)];
    const calls = await this.calls(random).draw();
    const { wei, has } = balanceFor(calls, random, { lacksSome: 0.1 });
    const key = random.between(0, 3);
    if (!isNew) await this.deploy(account, random);
    await this.fund(account.address, wei);
    const nonce = nonceOf(BigInt(key), key === 0 && !isNew ? 1n : 0n);
    const factory = isNew ? account.factory : undefined;
    const draft = { nonce, factory, callData: calls.callData, ...(await this.fees()) };
    const name = `${isNew ? 'a new' : 'an'} account that has ${has}, ${isSponsored ? 'sponsored' : 'unsponsored'}: ${calls.name}`;
    return { name, outcome: () => this.outcomeOverRpc({ account, calls, wei, draft, isSponsored }) };
  }

  /** Draws an operation of a user of this service. Its estimate ignores funds; what the estimate refuses, sending refuses too. */
  async ofUser(random: SeededRandom): Promise<EstimatedOperation> {
    const { sends } = this;
    const sender = await sends.sender(this.rpc.app);
    const [isNew, sponsor] = [random.chance(0.4), random.chance(0.5)];
    const calls = await this.calls(random).draw(1);
    const { wei, has } = balanceFor(calls, random, { lacksSome: 0 });
    if (!isNew) {
      const { body } = await this.send(sender, {});
      await sends.until(sender, body['id'], 'included');
    }
    await this.fund(sender.address, wei);
    const [{ to, value, data } = { to: '', value: 0n, data: '0x' }] = calls.calls;
    const request = { sponsor, transactionReq: { to, value: String(value), data } };
    const name = `a user's ${isNew ? 'new ' : ''}account that has ${has}, ${sponsor ? 'sponsored' : 'unsponsored'}: ${calls.name}`;
    return { name, outcome: () => this.outcomeOfUser(sender, { request, wei, calls }) };
  }

  private async outcomeOfUser(sender: Sender, { request, wei, calls }: UsersCall): Promise<EstimatedOutcome> {
    const { sends } = this;
    const estimate = await this.estimate(sender, request);
    const estimated = estimate.status === 201 ? 'succeeds' : outcomeOfProblem(estimate.body);
    const maxCost = BigInt((estimate.body['maxCost'] as string | undefined) ?? 0);
    // Twice the cost, because fees may rise between the estimate and the send.
    if (!request.sponsor) await this.fund(sender.address, wei + 2n * maxCost);
    const sent = await this.send(sender, { ...request });
    if (sent.status !== 201) return { estimated, happened: outcomeOfProblem(sent.body) };
    const { status } = await sends.until(sender, sent.body['id'], 'included', 'reverted', 'dropped');
    const isIncluded = status === 'included' || status === 'final';
    return { estimated, happened: isIncluded ? await this.succeeded(calls) : JSON.stringify(status) };
  }

  // On a busy machine, an operation that burns all gas holds up the calls behind it.
  private estimate(sender: Sender, request: UsersCall['request']): Promise<Answered> {
    return untilServed(() => this.sends.post('/onchain/estimate-user-op-gas', sender, { ...request }));
  }

  private send(sender: Sender, request: JsonObject): Promise<Answered> {
    const once = { 'idempotency-key': randomUUID() };
    return untilServed(() => this.sends.send(sender, request, once));
  }

  private calls(random: SeededRandom): RandomCallsOn {
    return new RandomCallsOn(random, (address, code) => this.sends.testChain.call('anvil_setCode', address, code));
  }

  private async deploy(account: OwnedAccount, random: SeededRandom): Promise<void> {
    await this.fund(account.address, ETHER);
    await this.rpc.deployed(account);
    if (random.chance(0.5)) await this.sends.setDeposit(0n, account.address);
  }

  /** Returns the current fees: the paymaster pays no more. */
  private async fees(): Promise<Pick<UserOperation, 'maxFeePerGas' | 'maxPriorityFeePerGas'>> {
    const { result } = await this.rpc.call('pimlico_getUserOperationGasPrice');
    const { standard = {} } = result as Record<string, Record<string, string>>;
    const { maxFeePerGas = '0x0', maxPriorityFeePerGas = '0x0' } = standard;
    return { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
  }

  private async outcomeOverRpc(drawn: Drawn): Promise<EstimatedOutcome> {
    const { account, calls, wei, draft, isSponsored } = drawn;
    const stub = { address: this.sends.prepared.paymaster, ...{ verificationGasLimit: 0n, postOpGasLimit: 0n } };
    const payer = isSponsored ? { ...stub, data: STUB_PAYMASTER_DATA } : undefined;
    const asked = { ...this.rpc.operation(account, { ...draft, paymaster: payer }), signature: STUB_SIGNATURE };
    const { result, error } = await this.rpc.estimate(asked);
    const limits = error ? PLENTY : limitsOf(result);
    const priced = { ...draft, ...limits };
    const isPaidFor = isSponsored && !error;
    const operation = this.rpc.operation(account, isPaidFor ? await this.sponsored(account, priced) : priced);
    if (!isPaidFor) await this.fundToPay(operation, wei);
    const estimated = error ? outcomeOfError(error) : 'succeeds';
    const sent = await this.rpc.send(operation);
    if (sent.error) return { estimated, happened: outcomeOfError(sent.error) };
    const receipt = await this.rpc.receipt(sent.result);
    return {
      estimated,
      happened: receipt['success'] === true ? await this.succeeded(calls) : revertedWith(receipt['reason']),
    };
  }

  /**
   * Sets a balance and mines a block. While anvil mines, it may answer a call with the state of the block before, without changes
   * made in between: only changes below a block are always visible.
   */
  private async fund(address: string, wei: bigint): Promise<void> {
    await this.sends.fund(address, wei);
    await this.sends.mine(1);
  }

  /** Funds an account so that this much is left at execution. Its deposit pays for gas first. */
  private async fundToPay(operation: UserOperation, wei: bigint): Promise<void> {
    const missing = maxCostOf(operation) - (await this.sends.deposit(operation.sender));
    await this.fund(operation.sender, wei + (missing > 0n ? missing : 0n));
  }

  private async sponsored(account: OwnedAccount, priced: Partial<UserOperation>): Promise<Partial<UserOperation>> {
    const asked = async () => {
      const dear = { ...priced, ...(await this.fees()) };
      const { result, error } = await this.rpc.sponsor(this.rpc.operation(account, dear));
      if (error && error.data?.['rule'] !== 'gas') throw new Error(`the paymaster refused: ${error.message}`);
      return result !== undefined && { result, dear };
    };
    const { result, dear } = await eventually(asked, ANSWERED_WITHIN_MS, 'the paymaster must sign at the fees of now');
    const { paymaster, paymasterData, ...gas } = result as Record<string, string>;
    const verificationGasLimit = BigInt(gas['paymasterVerificationGasLimit'] ?? 0);
    const postOpGasLimit = BigInt(gas['paymasterPostOpGasLimit'] ?? 0);
    return {
      ...dear,
      paymaster: { address: paymaster ?? '', data: paymasterData ?? '', verificationGasLimit, postOpGasLimit },
    };
  }

  private async succeeded({ written }: RandomCalls): Promise<string> {
    const slots = written.map((address) => this.sends.testChain.call('eth_getStorageAt', address, '0x0', 'latest'));
    const areAll = (await Promise.all(slots)).every((slot) => BigInt(slot as string) === 1n);
    return areAll ? 'succeeds' : 'succeeds, and has not written all';
  }
}

/** Returns a balance near the amount sent: equal, higher, or one wei too low. */
const balanceFor = (
  { wei }: RandomCalls,
  random: SeededRandom,
  { lacksSome }: { lacksSome: number },
): { wei: bigint; has: string } => {
  if (wei > 0n && random.chance(lacksSome)) return { wei: wei - 1n, has: 'a wei too little' };
  if (random.chance(0.6)) return { wei, has: 'what it sends' };
  return { wei: wei + BigInt(random.between(1, 10 ** 15)), has: 'more than it sends' };
};

const limitsOf = (result: RpcAnswer['result']): Pick<UserOperation, (typeof LIMITS)[number]> => {
  const limits = result as Record<(typeof LIMITS)[number], string>;
  const [callGasLimit, verificationGasLimit, preVerificationGas] = LIMITS.map((name) => BigInt(limits[name]));
  return { callGasLimit, verificationGasLimit, preVerificationGas } as Record<(typeof LIMITS)[number], bigint>;
};

const outcomeOfError = ({ code, message, data }: NonNullable<RpcAnswer['error']>): string =>
  code === rpcCodes.callReverts ? revertedWith(data?.['revertData']) : `${String(code)} ${message}`;
const outcomeOfProblem = ({ code, detail, revertData }: JsonObject): string =>
  code === 'execution_reverted' ? revertedWith(revertData) : JSON.stringify({ code, detail });
const revertedWith = (revertData: JsonValue = '0x'): string => `reverts with ${JSON.stringify(revertData)}`;
