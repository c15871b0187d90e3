import { JsonRpcProvider, Transaction, Wallet } from 'ethers';
import { Anvil } from '../../../../shared/testing/chain/anvil.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { executeCall } from '../../../onchain/operations/domain/account-calls.ts';
import type { ForkRules } from '../../../onchain/operations/domain/fork-rules.ts';
import { preVerificationGas } from '../../../onchain/operations/domain/pre-verification-gas.ts';
import { maxCostOf, nonceOf, type UserOperation } from '../../../onchain/operations/domain/user-operation.ts';
import type { OwnedAccount, RpcUnderTest } from '../../../onchain/testing/rpc-under-test.ethers.ts';
import { NOBODY, type SendsUnderTest } from '../../../onchain/testing/sends-under-test.ethers.ts';
import { requestsIn, type ProviderGateway } from '../../../../shared/testing/chain/provider-gateway.ts';

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
/** geth's default. */
const REQUEST_BYTES_MAX = 5_242_880;
const FEE_CAP_WEI = ETHER;
const TRANSACTION_BYTES_MAX = 131_072;

/** Puts a gateway before anvil that refuses permanently what geth refuses by default. */
export const asGeth = (gateway: ProviderGateway): ProviderGateway['answer'] => {
  const refused = (id: unknown, message: string) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message } });
  return async (body, honest) => {
    gateway.asked.length = 0;
    if (body.length > REQUEST_BYTES_MAX) return { status: 413, body: 'content length too large' };
    for (const { id, method, params } of requestsIn(body)) {
      if (method !== 'eth_sendRawTransaction') continue;
      const raw = String(params[0]);
      const { gasLimit, maxFeePerGas } = Transaction.from(raw);
      const wei = gasLimit * (maxFeePerGas ?? 0n);
      if (wei > FEE_CAP_WEI)
        return refused(id, `tx fee (${(Number(wei) / 1e18).toFixed(2)} ether) exceeds the configured cap (1.00 ether)`);
      const bytes = raw.length / 2 - 1;
      if (bytes > TRANSACTION_BYTES_MAX)
        return refused(id, `oversized data: transaction size ${String(bytes)}, limit ${String(TRANSACTION_BYTES_MAX)}`);
    }
    return honest();
  };
};

/** Random operations that should be refused, or cost others money or time, and the side actions of their owners. */
export class HostileOperations {
  private readonly provider: JsonRpcProvider;
  private readonly beside: Promise<unknown>[] = [];
  /** Number of refusals by message. */
  readonly refusals = new Map<string, number>();
  /** Hashes of the accepted operations. */
  readonly accepted: string[] = [];
  /** The last withdrawal of each owner: two at once would have the same nonce. */
  private readonly withdrawals = new Map<string, Promise<unknown>>();
  private deployments: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly sends: SendsUnderTest,
    private readonly rules: ForkRules,
    private readonly random: SeededRandom,
    private readonly known: readonly OwnedAccount[],
  ) {
    this.provider = new JsonRpcProvider(sends.testChain.rpcUrl, Anvil.chainId, { staticNetwork: true });
  }

  async send(rpc: RpcUnderTest): Promise<void> {
    const { random, sends } = this;
    const account = random.chance(0.4) ? undefined : random.pick(this.known);
    const by = account ?? rpc.account(undefined, new Wallet(random.hash()));
    const operation = this.operation(rpc, by, account === undefined);
    const what = random.pick(['nothing', 'empties', 'is in front', 'is deployed by another'] as const);
    await sends.fund(by.address, maxCostOf(operation) * BigInt(random.between(1, 2)));
    const { result, error } = await rpc.send(operation);
    if (error) {
      this.refusals.set(error.message, (this.refusals.get(error.message) ?? 0) + 1);
      return;
    }
    this.accepted.push(result as string);
    if (what === 'empties') this.beside.push(sends.fund(by.address, 0n));
    if (what === 'is in front' && account) this.beside.push(this.inFront(account));
    if (what === 'is deployed by another' && operation.factory) this.beside.push(this.deploys(operation.factory));
  }

  async close(): Promise<void> {
    await Promise.all(this.beside);
    this.provider.destroy();
  }

  private operation(rpc: RpcUnderTest, by: OwnedAccount, isNew: boolean): UserOperation {
    const { random } = this;
    const bytes = Math.floor(10 ** (random.next() * 5));
    const byte = random.pick(['00', '11', 'ff']) ?? '00';
    const data = random.chance(0.2) ? '0x' : `0x${byte.repeat(bytes)}`;
    const maxFeePerGas = BigInt(Math.floor(4 * 100 ** random.next())) * GWEI;
    const draft = {
      nonce: isNew ? 0n : nonceOf(BigInt(random.hash()) >> 70n, 0n),
      factory: isNew ? by.factory : undefined,
      callData: executeCall({ to: random.chance(0.5) ? by.address : NOBODY, value: 0n, data }),
      callGasLimit: BigInt(Math.floor(50_000 * 400 ** random.next())),
      verificationGasLimit: BigInt(random.between(100_000, 1_000_000)) + BigInt(bytes * 20),
      maxFeePerGas,
      maxPriorityFeePerGas: random.chance(0.5) ? GWEI : maxFeePerGas,
    };
    const enough = preVerificationGas(rpc.operation(by, draft), this.rules);
    return rpc.operation(by, { ...draft, preVerificationGas: (enough * BigInt(random.between(95, 140))) / 100n });
  }

  /** Front-runs: the owner withdraws everything that the account has, with a tip that blocks prefer. */
  private inFront(account: OwnedAccount): Promise<unknown> {
    const last = this.withdrawals.get(account.owner.address) ?? Promise.resolve();
    const next = last.then(() => this.withdraws(account));
    this.withdrawals.set(account.owner.address, next);
    return next;
  }

  private async withdraws({ owner, address }: OwnedAccount): Promise<unknown> {
    await this.sends.fund(owner.address, ETHER);
    const data = executeCall({ to: owner.address, value: await this.sends.balance(address), data: '0x' });
    const fees = { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 100n * GWEI, gasLimit: 200_000n };
    return owner.connect(this.provider).sendTransaction({ to: address, data, ...fees });
  }

  /** One after the other: the node gives two transactions that it gets at once the same nonce. */
  private deploys(factory: NonNullable<UserOperation['factory']>): Promise<unknown> {
    this.deployments = this.deployments.then(() => this.deploy(factory));
    return this.deployments;
  }

  private async deploy({ address: to, data }: NonNullable<UserOperation['factory']>): Promise<unknown> {
    const [from] = (await this.sends.testChain.call('eth_accounts')) as string[];
    const fees = {
      maxFeePerGas: `0x${(500n * GWEI).toString(16)}`,
      maxPriorityFeePerGas: `0x${(100n * GWEI).toString(16)}`,
    };
    return this.sends.testChain.call('eth_sendTransaction', { from, to, data, gas: '0x7a120', ...fees });
  }
}
