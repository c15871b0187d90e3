import { z } from 'zod';
import { CannotStart } from '../../errors/cannot-start.ts';
import { id, JsonRpcProvider, toBeHex, Wallet } from 'ethers';

/**
 * A contract that emits `Transfer(caller, caller, value)` for each 32 bytes of the calldata of a call:
 *
 *     for (uint i = 0; i < msg.data.length; i += 32) emit Transfer(msg.sender, msg.sender, uint(msg.data[i..i + 32]));
 *
 * Written in opcodes that every fork has, so it is deployed for some 80,000 gas.
 */
const RUNTIME = [
  '6000', // i
  '5b3681101560', // loop: while (i < calldatasize)
  '3d57',
  '8035600052', // memory[0] = calldata[i]
  '33337f', // topics: caller, caller, the event
  id('Transfer(address,address,uint256)').slice(2),
  '60206000a3', // log3
  '602001', // i += 32
  '600256',
  '5b00',
].join('');
const EMITTER = `0x603f80600b6000396000f3${RUNTIME}`;

export const TRANSFER = 'Transfer(address indexed from, address indexed to, uint256 value)';
export const TRANSFER_ABI = JSON.stringify([
  {
    type: 'event',
    name: 'Transfer',
    inputs: [
      { name: 'from', type: 'address', indexed: true },
      { name: 'to', type: 'address', indexed: true },
      { name: 'value', type: 'uint256', indexed: false },
    ],
  },
]);

const POLL_MS = 50;
const BLOCKS_AT_ONCE = 8;
const BLOCKS_MAX = 1_000;

interface Log {
  blockHash: string;
  transactionHash: string;
  logIndex: string;
}

/** The chain that a node follows, with an account that pays for the events. */
export class CheckedChain {
  private constructor(
    readonly chainId: number,
    /** Why nothing can be reorganised or finalized at will; `undefined` on a development chain. */
    readonly isReal: string | undefined,
    private readonly provider: JsonRpcProvider,
    private readonly account: Wallet,
    private readonly withinMs: number,
  ) {}

  /** @throws CannotStart if the chain does not answer, or the account has no gas */
  static async open(rpcUrl: string, key: string, withinMs: number): Promise<CheckedChain> {
    const chainId = await chainIdOf(rpcUrl);
    const options = { cacheTimeout: -1, pollingInterval: POLL_MS, staticNetwork: true };
    const provider = new JsonRpcProvider(rpcUrl, chainId, options);
    try {
      const account = new Wallet(key, provider);
      if ((await provider.getBalance(account.address)) === 0n)
        throw new CannotStart(`${account.address} has no gas on chain ${String(chainId)}`);
      const isReal = await provider.send('evm_snapshot', []).then(
        () => undefined,
        () => "the chain's node has no evm_snapshot and evm_revert",
      );
      return new CheckedChain(chainId, isReal, provider, account, withinMs);
    } catch (error) {
      provider.destroy();
      throw error;
    }
  }

  close(): void {
    this.provider.destroy();
  }

  async deploy(): Promise<{ address: string; startBlock: number }> {
    const { contractAddress, blockNumber } = await this.send({ data: EMITTER });
    if (contractAddress === null) throw new Error('the chain deployed no contract');
    return { address: contractAddress, startBlock: blockNumber };
  }

  /** Emits one event for each value, in one transaction. @returns its block */
  async emit(address: string, values: readonly number[]): Promise<number> {
    const data = `0x${values.map((value) => toBeHex(value, 32).slice(2)).join('')}`;
    return (await this.send({ to: address, data })).blockNumber;
  }

  /** Returns the `Id` of every event of a contract, as event records have it, in chain order. */
  async eventIds(address: string, fromBlock: number): Promise<string[]> {
    const filter = { address, fromBlock: `0x${fromBlock.toString(16)}`, toBlock: 'latest' };
    const logs = (await this.provider.send('eth_getLogs', [filter])) as Log[];
    return logs.map(({ blockHash, transactionHash, logIndex }) =>
      [String(this.chainId), blockHash, transactionHash, String(Number(logIndex))].join(':'),
    );
  }

  /** Returns the number of the newest block. */
  head(): Promise<number> {
    return this.provider.getBlockNumber();
  }

  async snapshot(): Promise<string> {
    return (await this.provider.send('evm_snapshot', [])) as string;
  }

  /** Takes the chain back to what it was. */
  async revert(snapshot: string): Promise<void> {
    if ((await this.provider.send('evm_revert', [snapshot])) !== true) throw new Error('the chain did not go back');
    // anvil may have put the transactions of removed blocks into its mempool; other nodes do not know the method.
    await this.provider.send('anvil_dropAllTransactions', []).catch(() => undefined);
  }

  /** Mines empty blocks until the head has at least this number. */
  async mineTo(block: number): Promise<void> {
    while ((await this.head()) < block) await this.provider.send('evm_mine', []);
  }

  /** Mines blocks until this one is final. */
  async finalize(block: number): Promise<void> {
    for (let mined = 0; mined < BLOCKS_MAX; mined += BLOCKS_AT_ONCE) {
      const finalized = await this.provider.getBlock('finalized');
      if (finalized && finalized.number >= block) return;
      await this.mineTo((await this.head()) + BLOCKS_AT_ONCE);
    }
    throw new Error(`block ${String(block)} is not final after ${String(BLOCKS_MAX)} more`);
  }

  private async send(transaction: { to?: string; data: string }) {
    const sent = await this.account.sendTransaction(transaction);
    const receipt = await sent.wait(1, this.withinMs);
    if (!receipt) throw new Error(`the chain has no receipt of ${sent.hash}`);
    return receipt;
  }
}

/** Asks without the provider, which would ask for ever where nothing answers. */
const chainIdOf = async (rpcUrl: string): Promise<number> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
  try {
    const answer = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return Number(z.object({ result: z.string() }).parse(await answer.json()).result);
  } catch (cause) {
    throw new CannotStart(`no chain answers eth_chainId at ${rpcUrl}`, { cause });
  }
};
