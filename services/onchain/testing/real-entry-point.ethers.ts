import { Contract, getCreateAddress, Interface, isCallException, JsonRpcProvider, type Log } from 'ethers';
import { LOCAL_FUNDER_KEY } from '../../../shared/local-chain/development-token.ethers.ts';
import { startLocalChain } from '../../../shared/local-chain/local-chain-process.ts';
import { chainSettings } from '../../../shared/config/chain-settings.ts';
import { addressOfKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { eventually } from '../../../shared/testing/eventually.ts';
import { transactionHash } from '../bundler/domain/bundle-transaction.ts';
import { encodeHandleOps } from '../operations/domain/operation-encoding.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';
import { ChainClient } from '../../../shared/chain/client/chain-client.ts';
import { JsonRpcOperationsChain } from '../chain/operations-chain.json-rpc.ts';
import { ChainContracts } from '../prepare-chain/chain-contracts.ethers.ts';
import type { Executed, SimulatedContracts } from './simulated-chain/simulated-entry-point.ts';

const ABI = new Interface([
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
  'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
  'event UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)',
  'event AccountDeployed(bytes32 indexed userOpHash, address indexed sender, address factory, address paymaster)',
  'function getNonce(address sender, uint192 key) view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
]);
const CHAIN_ID = 2484;
const ETHER = 10n ** 18n;
const REFUSES_WITH_BYTES = '0x0000000000000000000000000000000000002001';
const REFUSES_SILENTLY = '0x0000000000000000000000000000000000002002';

/** A block of the real chain with one transaction. */
export interface RealBlock {
  timestamp: number;
  baseFeePerGas: bigint;
  /** Status of the transaction. */
  success: boolean;
  executed: Executed[];
}

/** EntryPoint v0.7 on anvil with the London fork, to compare the simulated EntryPoint with. */
export class RealEntryPoint {
  private constructor(
    private readonly provider: JsonRpcProvider,
    readonly contracts: SimulatedContracts,
    readonly executor: string,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(folder: string, keys: { paymaster: Uint8Array; executor: Uint8Array }): Promise<RealEntryPoint> {
    const local = await startLocalChain({ chainId: CHAIN_ID, folder, port: 0 });
    const chain = chainSettings.parse({ chainId: CHAIN_ID, rpcUrls: [local.rpcUrl] });
    const hexKeys = { paymaster: hex(keys.paymaster), executors: [hex(keys.executor)] };
    const client = new ChainClient(CHAIN_ID, chain.rpcUrls);
    const preparing = new ChainContracts(
      { client, operations: new JsonRpcOperationsChain(client, chain) },
      chain,
      hexKeys,
    );
    const prepared = await preparing.prepare({ funderKey: LOCAL_FUNDER_KEY, depositWei: ETHER, executorWei: ETHER });
    client.close();
    const provider = new JsonRpcProvider(local.rpcUrl, CHAIN_ID, {
      staticNetwork: true,
      cacheTimeout: -1,
      batchStallTime: 0,
    });
    await provider.send('anvil_setCode', [REFUSES_WITH_BYTES, '0x63deadbeef60e01b60005260046000fd']);
    await provider.send('anvil_setCode', [REFUSES_SILENTLY, '0x60006000fd']);
    const contracts = {
      chainId: CHAIN_ID,
      entryPoint: prepared.entryPoint,
      factory: prepared.accountFactory,
      implementation: getCreateAddress({ from: prepared.accountFactory, nonce: 1 }),
      paymaster: { address: prepared.paymaster, signer: prepared.paymasterOwner },
      refusing: new Map([
        [REFUSES_WITH_BYTES, '0xdeadbeef'],
        [REFUSES_SILENTLY, '0x'],
      ]),
    };
    const stop = async () => {
      provider.destroy();
      await local.stop();
    };
    return new RealEntryPoint(provider, contracts, addressOfKey(keys.executor), stop);
  }

  async setWei(address: string, wei: bigint): Promise<void> {
    await this.provider.send('anvil_setBalance', [address, `0x${wei.toString(16)}`]);
  }

  async weiOf(address: string): Promise<bigint> {
    return this.provider.getBalance(address);
  }

  async hasCode(address: string): Promise<boolean> {
    return (await this.provider.getCode(address)) !== '0x';
  }

  async depositOf(address: string): Promise<bigint> {
    return (await this.entryPoint().getFunction('balanceOf')(address)) as bigint;
  }

  async sequenceOf(sender: string, key: bigint): Promise<bigint> {
    return BigInt.asUintN(64, (await this.entryPoint().getFunction('getNonce')(sender, key)) as bigint);
  }

  async executorCount(): Promise<number> {
    return this.provider.getTransactionCount(this.executor, 'latest');
  }

  async now(): Promise<number> {
    return (await this.provider.getBlock('latest'))?.timestamp ?? 0;
  }

  /** Returns the `index: reason` with which `handleOps` would revert; `0x` without a reason, `undefined` on success. */
  async refusalOf(operations: readonly UserOperation[], beneficiary: string): Promise<string | undefined> {
    const call = { from: this.executor, to: this.contracts.entryPoint, data: encodeHandleOps(operations, beneficiary) };
    try {
      await this.provider.call(call);
      return undefined;
    } catch (error) {
      if (!isCallException(error)) throw error;
      const data = error.data ?? '0x';
      const parsed = data === '0x' ? null : ABI.parseError(data);
      return parsed ? `${String(parsed.args[0])}: ${String(parsed.args[1])}` : data;
    }
  }

  /** Sets whether each transaction gets a block at once, or only `mine` makes blocks. */
  async mineAtOnce(atOnce: boolean): Promise<void> {
    await this.provider.send('evm_setAutomine', [atOnce]);
  }

  async mine(): Promise<void> {
    await this.provider.send('evm_mine', []);
  }

  /** Returns the text of the node's refusal; `taken` if the node accepted the transaction. */
  async send(raw: string): Promise<string> {
    try {
      await this.provider.send('eth_sendRawTransaction', [raw]);
      return 'taken';
    } catch (error) {
      // ethers repeats a request whose answer was lost: the first one may have succeeded.
      if (await this.provider.getTransactionReceipt(transactionHash(raw))) return 'taken';
      return String((error as { error?: { message?: string } }).error?.message ?? error);
    }
  }

  /** Returns the block of a transaction, which contains no other. */
  async blockOf(transactionHash: string): Promise<RealBlock> {
    const asking = () => this.provider.getTransactionReceipt(transactionHash);
    const receipt = await eventually(asking, 5_000, `the transaction ${transactionHash} is in no block`);
    const block = await this.provider.getBlock(receipt.blockNumber);
    if (!block) throw new Error(`there is no block ${String(receipt.blockNumber)}`);
    const baseFeePerGas = block.baseFeePerGas ?? 0n;
    return {
      timestamp: block.timestamp,
      baseFeePerGas,
      success: receipt.status === 1,
      executed: executedOf(receipt.logs),
    };
  }

  private entryPoint(): Contract {
    return new Contract(this.contracts.entryPoint, ABI, this.provider);
  }
}

const executedOf = (logs: readonly Log[]): Executed[] => {
  const parsed = logs.flatMap((log) => ABI.parseLog(log) ?? []);
  const argumentsOf = (name: string) =>
    parsed.filter((log) => log.name === name).map(({ args }) => args.toObject() as Record<string, unknown>);
  const deployed = new Set(argumentsOf('AccountDeployed').map(({ userOpHash }) => userOpHash));
  const reasons = new Map(
    argumentsOf('UserOperationRevertReason').map((args) => [args['userOpHash'], args['revertReason']]),
  );
  return argumentsOf('UserOperationEvent').map((args) => {
    const { userOpHash } = args;
    const revertReason = reasons.get(userOpHash);
    return { ...args, deployed: deployed.has(userOpHash), revertReason } as Executed;
  });
};

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;
