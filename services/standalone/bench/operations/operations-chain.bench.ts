import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IMPLEMENTATION_SLOT } from '../../../../shared/chain/state/eip-1967.ts';
import { accountImplementation } from '../../../onchain/smart-accounts/domain/smart-account.ts';
import { ACCOUNT_RUNTIME_CODE } from '../../../onchain/smart-accounts/domain/account-proxy-code.ts';

/** `UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)` */
const OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f';
const CALLS_AT_ONCE = 500;
/** Operations are given up when nothing was included for this long. */
const SILENT_MS = 20_000;
const POLL_MS = 50;

interface Included {
  atMs: number;
  transactionHash: string;
}

interface Call {
  method: string;
  params: readonly unknown[];
}

/** A local chain, with the time at which it included each operation. */
export class OperationsChainUnderLoad {
  private readonly included = new Map<string, Included>();
  private readonly waiting = new Map<string, (included: Included) => void>();
  private newestAtMs = 0;

  private constructor(
    readonly rpcUrl: string,
    /** Process id of anvil. */
    readonly pid: number,
    private readonly socket: WebSocket,
  ) {}

  /** @param folder where anvil runs */
  static async open(rpcUrl: string, entryPoint: string, folder: string): Promise<OperationsChainUnderLoad> {
    const socket = new WebSocket(rpcUrl.replace('http', 'ws'));
    const chain = new OperationsChainUnderLoad(rpcUrl, Number(readFileSync(join(folder, 'anvil.pid'), 'utf8')), socket);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    socket.addEventListener('message', ({ data }) => chain.take(String(data)));
    const filter = { address: entryPoint, topics: [OPERATION_EVENT] };
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['logs', filter] }));
    return chain;
  }

  close(): void {
    this.socket.close();
  }

  /** Resolves when a block includes the operation. */
  whenIncluded(userOpHash: string): Promise<Included> {
    const known = this.included.get(userOpHash);
    return known ? Promise.resolve(known) : new Promise((resolve) => this.waiting.set(userOpHash, resolve));
  }

  /** Returns the operations that blocks include, once all are included or nothing was for a while. */
  async inclusionsOf(userOpHashes: readonly string[]): Promise<Included[]> {
    const from = performance.now();
    const found = () => userOpHashes.flatMap((hash) => this.included.get(hash) ?? []);
    while (found().length < userOpHashes.length) {
      if (performance.now() - Math.max(from, this.newestAtMs) > SILENT_MS) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return found();
  }

  /** Returns the gain of the senders of these bundles, in wei, since a block. */
  async gainOf(inclusions: readonly Included[], sinceBlock: string): Promise<bigint> {
    const hashes = [...new Set(inclusions.map(({ transactionHash }) => transactionHash))];
    const sent = await this.callMany(hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })));
    const senders = [...new Set(sent.map((one) => (one as { from: string }).from))];
    const balances = async (block: string) => {
      const all = await this.callMany(senders.map((sender) => ({ method: 'eth_getBalance', params: [sender, block] })));
      return all.reduce<bigint>((sum, wei) => sum + BigInt(wei as string), 0n);
    };
    return (await balances('latest')) - (await balances(sinceBlock));
  }

  async blockNumber(): Promise<string> {
    return (await this.call('eth_blockNumber')) as string;
  }

  async baseFee(): Promise<bigint> {
    const block = (await this.call('eth_getBlockByNumber', 'latest', false)) as { baseFeePerGas: string };
    return BigInt(block.baseFeePerGas);
  }

  /** Mines blocks each second, or at once. */
  async setBlocks(when: 'at once' | 'each second'): Promise<void> {
    await this.call('evm_setAutomine', when === 'at once');
    await this.call('evm_setIntervalMining', when === 'at once' ? 0 : 1);
    if (when === 'at once') await this.call('evm_setAutomine', true);
  }

  async fund(addresses: readonly string[], wei: bigint): Promise<void> {
    await this.callMany(
      addresses.map((address) => ({ method: 'anvil_setBalance', params: [address, `0x${wei.toString(16)}`] })),
    );
  }

  /** Puts the code of accounts at the addresses where their factory would. */
  async deploy(accounts: readonly { address: string; owner: string }[], factory: string): Promise<void> {
    const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
    const implementation = word(accountImplementation(factory));
    await this.callMany(
      accounts.flatMap(({ address, owner }) => [
        { method: 'anvil_setCode', params: [address, `0x${ACCOUNT_RUNTIME_CODE}`] },
        { method: 'anvil_setStorageAt', params: [address, IMPLEMENTATION_SLOT, implementation] },
        { method: 'anvil_setStorageAt', params: [address, word('0x'), word(owner)] },
      ]),
    );
  }

  async call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return (await this.callMany([{ method, params }]))[0];
  }

  private async callMany(calls: readonly Call[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (let at = 0; at < calls.length; at += CALLS_AT_ONCE) {
      const batch = calls.slice(at, at + CALLS_AT_ONCE).map((call, id) => ({ jsonrpc: '2.0', id, ...call }));
      const body = JSON.stringify(batch);
      const answer = await fetch(this.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const answers = (await answer.json()) as { result?: unknown; error?: { message: string } }[];
      const failed = answers.find(({ error }) => error);
      if (failed?.error) throw new Error(`${batch[0]?.method ?? ''}: ${failed.error.message}`);
      results.push(...answers.map(({ result }) => result));
    }
    return results;
  }

  private take(message: string): void {
    const { params } = JSON.parse(message) as {
      params?: { result: { topics: string[]; transactionHash: string } };
    };
    const userOpHash = params?.result.topics[1];
    if (!params || userOpHash === undefined) return;
    this.newestAtMs = performance.now();
    const included = { atMs: this.newestAtMs, transactionHash: params.result.transactionHash };
    this.included.set(userOpHash, included);
    this.waiting.get(userOpHash)?.(included);
    this.waiting.delete(userOpHash);
  }
}
