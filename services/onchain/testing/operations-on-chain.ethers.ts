import { AbiCoder, concat, getBytes, JsonRpcProvider, Wallet } from 'ethers';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { chainSettings } from '../../../shared/config/chain-settings.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { startAnvil, type StartChain } from '../../../shared/testing/chain/start-test-chain.ts';
import type { TestChain } from '../../../shared/testing/chain/test-chain.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { encodeHandleOps } from '../operations/domain/operation-encoding.ts';
import { STUB_PAYMASTER_DATA, STUB_SIGNATURE } from '../operations/domain/operation-hash.ts';
import { accountAddress } from '../smart-accounts/domain/smart-account.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcOperationsChain } from '../chain/operations-chain.json-rpc.ts';
import type { OperationInclusion } from '../chain/operations-chain.ts';
import { ChainContracts } from '../prepare-chain/chain-contracts.ethers.ts';
import { signOperation } from './signed-operation.ts';

const ETHER = 10n ** 18n;
const GWEI = 10n ** 9n;
/** The most gas of a transaction since Osaka. */
const BUNDLE_GAS = 2n ** 24n;
const MINED_WITHIN_MS = 5_000;
const abi = AbiCoder.defaultAbiCoder();

/** `execute(address,uint256,bytes)` of SimpleAccount. */
export const execute = (to: string, value = 0n, data = '0x'): string =>
  concat(['0xb61d27f6', abi.encode(['address', 'uint256', 'bytes'], [to, value, data])]);

/** `executeBatch(address[],uint256[],bytes[])` of SimpleAccount. */
export const executeBatch = (calls: readonly { to: string; value?: bigint; data?: string }[]): string => {
  const values = [
    calls.map(({ to }) => to),
    calls.map(({ value = 0n }) => value),
    calls.map(({ data = '0x' }) => data),
  ];
  return concat(['0x47e1da2a', abi.encode(['address[]', 'uint256[]', 'bytes[]'], values)]);
};

const keyOf = ({ privateKey }: Wallet): Uint8Array => getBytes(privateKey);

/** A local chain with the contracts, a paymaster, and an executor that includes operations. */
export class OperationsOnChain {
  private constructor(
    readonly testChain: TestChain,
    readonly client: ChainClient,
    readonly chain: JsonRpcOperationsChain,
    readonly settings: ReturnType<typeof chainSettings.parse>,
    readonly paymaster: string,
    private readonly paymasterSigner: Wallet,
    readonly executor: Wallet,
    private readonly provider: JsonRpcProvider,
  ) {}

  /** @param startChain default: anvil, whose state a test may write */
  static async start(folder: string, startChain: StartChain = startAnvil): Promise<OperationsOnChain> {
    const testChain = await startChain(folder);
    const settings = chainSettings.parse({ chainId: Anvil.chainId, rpcUrls: [testChain.rpcUrl] });
    const signer = randomWallet();
    const provider = new JsonRpcProvider(testChain.rpcUrl, Anvil.chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 10,
      batchMaxCount: 1,
    });
    const executor = new Wallet(randomWallet().privateKey, provider);
    const client = new ChainClient(Anvil.chainId, settings.rpcUrls);
    const chain = new JsonRpcOperationsChain(client, settings);
    const keys = { paymaster: signer.privateKey, executors: [executor.privateKey] };
    const contracts = new ChainContracts({ client, operations: chain }, settings, keys);
    const funding = { funderKey: LOCAL_FUNDER_KEY, depositWei: 10n * ETHER, executorWei: 100n * ETHER };
    const { paymaster } = await contracts.prepare(funding);
    return new OperationsOnChain(testChain, client, chain, settings, paymaster, signer, executor, provider);
  }

  async stop(): Promise<void> {
    this.client.close();
    this.provider.destroy();
    await this.testChain.stop();
  }

  addressOf(owner: Wallet): string {
    return accountAddress(this.settings.accountFactory, owner.address);
  }

  /** Returns the factory call that deploys the account of an owner. */
  factoryOf(owner: Wallet): { address: string; data: string } {
    const data = concat(['0x5fbfb9cf', abi.encode(['address', 'uint256'], [owner.address, 0n])]);
    return { address: this.settings.accountFactory, data };
  }

  fund(address: string, wei: bigint): Promise<void> {
    return this.testChain.setBalance(address, wei);
  }

  /** Puts code at a new address. */
  contract(code: string): Promise<string> {
    return this.testChain.deploy(code);
  }

  /** Returns an operation of an owner's account with plenty of gas and stub signatures. */
  operation(owner: Wallet, changes: Partial<UserOperation> & { sponsored?: boolean } = {}): UserOperation {
    const { sponsored = false, ...rest } = changes;
    const limits = { verificationGasLimit: 500_000n, postOpGasLimit: 0n };
    return {
      sender: this.addressOf(owner),
      nonce: 0n,
      factory: undefined,
      callData: '0x',
      callGasLimit: 1_000_000n,
      verificationGasLimit: 1_000_000n,
      preVerificationGas: 50_000n,
      maxFeePerGas: 2n * GWEI,
      maxPriorityFeePerGas: GWEI,
      paymaster: sponsored ? { address: this.paymaster, ...limits, data: STUB_PAYMASTER_DATA } : undefined,
      signature: STUB_SIGNATURE,
      ...rest,
    };
  }

  /** Signs an operation with the owner's key, and with our paymaster's if it pays. */
  sign(owner: Wallet, operation: UserOperation): UserOperation {
    const { chainId, entryPoint } = this.chain;
    const paymaster = { key: keyOf(this.paymasterSigner), validUntil: 0xffffffffffff, validAfter: 0 };
    return signOperation(operation, { chainId, entryPoint, owner: keyOf(owner), paymaster });
  }

  /** Sends a bundle and waits for its block. The operations may fail. */
  async include(operations: readonly UserOperation[]): Promise<{ gasUsed: bigint; inclusions: OperationInclusion[] }> {
    const sent = await this.executor.sendTransaction({
      to: this.chain.entryPoint,
      data: encodeHandleOps(operations, this.executor.address),
      gasLimit: BUNDLE_GAS,
    });
    // Polls, because `wait` of ethers misses a block that is mined before its first request.
    const receipt = await eventually(
      () => this.provider.getTransactionReceipt(sent.hash),
      MINED_WITHIN_MS,
      'the bundle is in no block',
    );
    const { blockNumber, gasUsed } = receipt;
    // geth may return a receipt a moment before its head is that block.
    const inclusions = await eventually(
      () => this.chain.inclusions(blockNumber, blockNumber),
      MINED_WITHIN_MS,
      'the block of the bundle cannot be read',
    );
    return { gasUsed, inclusions };
  }

  /** Deploys the account of an owner. */
  async deploy(owner: Wallet): Promise<void> {
    const { inclusions } = await this.include([
      this.sign(owner, this.operation(owner, { factory: this.factoryOf(owner), sponsored: true })),
    ]);
    if (inclusions[0]?.deployed !== true) throw new Error('the account was not deployed');
  }
}
