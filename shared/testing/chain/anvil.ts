import { randomBytes } from 'node:crypto';
import { HARDFORKS, type Hardfork } from '../../chain/hardforks.ts';
import { checksumAddress } from '../../chain/identifiers/address.ts';
import { startLocalChain } from '../../local-chain/local-chain-process.ts';
import { callNode } from './call-node.ts';
import { EMITTER, emitting, type EmittedLog } from './emitter.ts';
import { FIRST_TIP_WEI, type FundedTransaction, type TestChain } from './test-chain.ts';
import { hex } from './wire-forms.ts';

const CHAIN_ID = 2484;
/** All specs on chains can be run at an older fork: `HARDFORK=london npm test -- account`. */
const HARDFORK: Hardfork = HARDFORKS.find((one) => one === process.env['HARDFORK']) ?? 'osaka';
/** The gas limit of a transaction that names none: enough for any call of a test. */
const GAS = 8_000_000n;
const MAX_FEE_WEI = 100n * 10n ** 9n;
const ADDRESS_BYTES = 20;

/** Longer than a busy machine needs to write the state of a chain. */
const STOPS_WITHIN_MS = 60_000;

/** A real chain that mines on request. */
export class Anvil implements TestChain {
  private readonly emitters = new Set<string>();

  private constructor(
    readonly chainId: number,
    readonly rpcUrl: string,
    private readonly sender: string,
    readonly stop: () => Promise<void>,
  ) {}

  static readonly chainId = CHAIN_ID;
  /** Of a chain that is started without another one. */
  static readonly hardfork = HARDFORK;

  /**
   * @param folder one for each chain; continues a chain that was kept there
   * @param hardfork default: that of `HARDFORK`, else the newest
   */
  static async start(folder: string, chainId = CHAIN_ID, hardfork: Hardfork | 'berlin' = HARDFORK): Promise<Anvil> {
    const { rpcUrl, stop } = await startLocalChain({
      chainId,
      folder,
      port: 0,
      hardfork,
      stopsWithinMs: STOPS_WITHIN_MS,
    });
    const asking = new Anvil(chainId, rpcUrl, '', stop);
    const [sender = ''] = (await asking.call('eth_accounts')) as string[];
    return new Anvil(chainId, rpcUrl, sender, stop);
  }

  call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return callNode(this.rpcUrl, method, params);
  }

  /** Mines one block with these logs, each in its own transaction. Their addresses become contracts that emit. */
  async mine(logs: readonly (EmittedLog & { address: string })[]): Promise<void> {
    await this.call('evm_setAutomine', false);
    for (const { address, ...log } of logs) {
      if (!this.emitters.has(address)) await this.call('anvil_setCode', address, EMITTER);
      this.emitters.add(address);
      const { data: input, gas } = emitting(log);
      await this.call('eth_sendTransaction', { from: this.sender, to: address, input, gas: hex(gas) });
    }
    await this.call('evm_mine');
    await this.call('evm_setAutomine', true);
  }

  async setAutomine(isOn: boolean): Promise<void> {
    await this.call('evm_setAutomine', isOn);
  }

  async mineBlocks(count: number): Promise<void> {
    await this.call('anvil_mine', hex(count));
  }

  async mineWithoutPending(count: number): Promise<void> {
    await this.call('anvil_dropAllTransactions');
    await this.mineBlocks(count);
  }

  async pendingTransactions(): Promise<number> {
    return Number(((await this.call('txpool_status')) as { pending: string }).pending);
  }

  async increaseTime(seconds: number): Promise<void> {
    await this.call('evm_increaseTime', seconds);
  }

  async snapshot(): Promise<string> {
    return (await this.call('evm_snapshot')) as string;
  }

  async revertTo(snapshot: string): Promise<void> {
    await this.call('evm_revert', snapshot);
  }

  async setBalance(address: string, wei: bigint): Promise<void> {
    await this.call('anvil_setBalance', address, hex(wei));
  }

  async deploy(code: string): Promise<string> {
    const address = checksumAddress(randomBytes(ADDRESS_BYTES).toString('hex'));
    await this.call('anvil_setCode', address, code);
    return address;
  }

  async send({ to, data = '0x', value = 0n, gas = GAS, maxPriorityFeePerGas = FIRST_TIP_WEI }: FundedTransaction) {
    const fees = { maxPriorityFeePerGas: hex(maxPriorityFeePerGas), maxFeePerGas: hex(MAX_FEE_WEI) };
    const transaction = { from: this.sender, to, input: data, value: hex(value), gas: hex(gas), ...fees };
    return (await this.call('eth_sendTransaction', transaction)) as string;
  }

  /** Reverts the newest blocks. Blocks mined afterwards have other hashes. */
  async rollBack(depth: number): Promise<void> {
    await this.call('anvil_rollback', depth);
    // Code that was set in a reverted block is gone.
    this.emitters.clear();
    await this.call('evm_increaseTime', 1);
  }
}
