import type { Wallet } from 'ethers';
import { executorStream } from '../../../schemas/events/onchain/executor-events.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { rpcCodes } from '../../../schemas/rpc/rpc-messages.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { call, type Answered } from '../../../shared/testing/http/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { createAccountData } from '../operations/domain/account-calls.ts';
import { accountAddress } from '../smart-accounts/domain/smart-account.ts';
import { answeredOperationOf, type UserOperation } from '../operations/domain/user-operation.ts';
import { requireDocumented } from './documented-answers.ts';
import type { Sender, SendingApp, SendsUnderTest } from './sends-under-test.ethers.ts';
import { signOperation } from './signed-operation.ts';

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const HAPPENS_WITHIN_MS = 60_000;
const BUSY = 503;

export interface RpcAnswer {
  result?: JsonValue;
  error?: { code: number; message: string; data?: JsonObject };
}

/** An account whose key only its owner has. */
export interface OwnedAccount {
  owner: Wallet;
  address: string;
  factory: { address: string; data: string };
}

/** Sends operations through `/rpc` as a client, and waits for their outcomes. */
export class RpcUnderTest {
  private calls = 0;

  constructor(
    readonly sends: SendsUnderTest,
    readonly app: SendingApp,
    private readonly caller: Pick<Sender, 'bearer'>,
  ) {}

  static async start(sends: SendsUnderTest): Promise<RpcUnderTest> {
    const app = await sends.app();
    return new RpcUnderTest(sends, app, await sends.sender(app));
  }

  async call(method: string, ...params: readonly unknown[]): Promise<RpcAnswer> {
    const request = { jsonrpc: '2.0', id: (this.calls += 1), method, params };
    const { status, body } = await this.post(request);
    if (status !== 200 || body['id'] !== request.id) throw new Error(`/rpc answered with status ${String(status)}`);
    requireDocumented(method, body);
    return body;
  }

  /** Repeats a call that failed because a dependency did not answer in time, which happens on a busy machine. */
  private post(request: unknown): Promise<Answered> {
    const ask = () => call(this.url, { method: 'POST', body: request, headers: this.caller.bearer });
    const answered = async () => {
      const answer = await ask();
      const { error } = answer.body as unknown as Partial<RpcAnswer>;
      return answer.status !== BUSY && error?.code !== rpcCodes.internalError && answer;
    };
    return eventually(answered, HAPPENS_WITHIN_MS, 'the dependencies of /rpc must answer');
  }

  /** The URL for any ERC-4337 client. Besides it, this service needs only the authorization header. */
  get url(): string {
    return `${this.sends.service.url}/rpc?chainID=${String(Anvil.chainId)}&apiKey=${this.app.apiKey}`;
  }

  get bearer(): { authorization: string } {
    return this.caller.bearer;
  }

  /** @param factory default: the factory of this service; @param owner default: a new wallet */
  account(factory = this.sends.prepared.accountFactory, owner = randomWallet()): OwnedAccount {
    const address = accountAddress(factory, owner.address);
    return { owner, address, factory: { address: factory, data: createAccountData(owner.address) } };
  }

  /** Funds and deploys an account. */
  async deployed(account = this.account()): Promise<OwnedAccount> {
    await this.sends.fund(account.address, ETHER);
    const { result, error } = await this.send(this.operation(account, { factory: account.factory }));
    if (error) throw new Error(`the account is not deployed: ${error.message}`);
    await this.receipt(result);
    return account;
  }

  /** Returns an operation that does nothing, with plenty of gas, signed by the owner. */
  operation({ owner, address }: OwnedAccount, changes: Partial<UserOperation> = {}): UserOperation {
    const { entryPoint } = this.sends.prepared;
    const unsigned = {
      sender: address,
      nonce: 0n,
      factory: undefined,
      callData: '0x',
      callGasLimit: 100_000n,
      verificationGasLimit: 500_000n,
      preVerificationGas: 100_000n,
      maxFeePerGas: 4n * GWEI,
      maxPriorityFeePerGas: GWEI,
      paymaster: undefined,
      signature: '0x',
      ...changes,
    };
    return signOperation(unsigned, {
      chainId: Anvil.chainId,
      entryPoint,
      owner: Buffer.from(owner.privateKey.slice(2), 'hex'),
    });
  }

  /** Returns the JSON-RPC form of an operation. */
  form(operation: UserOperation): JsonObject {
    return answeredOperationOf(operation);
  }

  send(operation: UserOperation): Promise<RpcAnswer> {
    return this.call('eth_sendUserOperation', this.form(operation), this.sends.prepared.entryPoint);
  }

  estimate(operation: UserOperation): Promise<RpcAnswer> {
    return this.call('eth_estimateUserOperationGas', this.form(operation), this.sends.prepared.entryPoint);
  }

  /** Requests the signature of our paymaster. */
  sponsor(operation: UserOperation): Promise<RpcAnswer> {
    return this.askPaymaster('pm_getPaymasterData', operation);
  }

  /** Requests data of our paymaster for an estimate. */
  stub(operation: UserOperation): Promise<RpcAnswer> {
    return this.askPaymaster('pm_getPaymasterStubData', operation);
  }

  private askPaymaster(method: string, operation: UserOperation): Promise<RpcAnswer> {
    const { entryPoint } = this.sends.prepared;
    return this.call(method, this.form(operation), entryPoint, `0x${Anvil.chainId.toString(16)}`, {});
  }

  /** Waits until a block includes an operation, and returns the receipt. */
  receipt(userOpHash: unknown): Promise<JsonObject> {
    const asking = async () => (await this.call('eth_getUserOperationReceipt', userOpHash)).result as JsonObject | null;
    return eventually(asking, HAPPENS_WITHIN_MS, `the operation ${String(userOpHash)} must be in a block`);
  }

  /** Returns the signed bundles that contain any of these transactions, in order, each as the ids of these transactions. */
  async bundlesOf(ids: readonly string[]): Promise<string[][]> {
    const signed = await this.signedBundles();
    const bundles = signed.map(({ data }) => (data['operations'] as string[]).filter((id) => ids.includes(id)));
    return bundles.filter((bundle) => bundle.length > 0);
  }

  /** Whether the node has the newest signed bundle. A bundle is stored before it is sent, so a block in between lacks it. */
  async nodeHasNewestBundle(): Promise<boolean> {
    const newest = (await this.signedBundles()).at(-1);
    const hash = newest?.data['transactionHash'];
    return hash !== undefined && (await this.sends.testChain.call('eth_getTransactionByHash', hash)) !== null;
  }

  /** Returns the BundleSigned events of all executors, in the order of the store. */
  private async signedBundles() {
    const streams = this.sends.prepared.executors.map((executor) =>
      this.sends.foundation.eventStore.read(executorStream(Anvil.chainId, executor)),
    );
    const events = (await Promise.all(streams)).flat().sort((a, b) => a.position - b.position);
    return events.filter(({ type }) => type === 'BundleSigned');
  }
}
