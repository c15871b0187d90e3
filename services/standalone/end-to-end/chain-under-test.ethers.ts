import { Interface } from 'ethers';
import { ensureDevelopmentToken, type DevelopmentToken } from '../../../shared/local-chain/development-token.ethers.ts';
import { startLocalChain, type LocalChain } from '../../../shared/local-chain/local-chain-process.ts';

const token = new Interface([
  'function transfer(address to, uint256 amount)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const CALLS_AT_ONCE = 250;
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

interface RawLog {
  blockHash: string;
  blockNumber: string;
  transactionHash: string;
  logIndex: string;
  topics: string[];
  data: string;
}

/** An anvil with a token, whose blocks a spec mines and reverts. */
export class ChainUnderTest {
  private constructor(
    private readonly chain: LocalChain,
    readonly token: DevelopmentToken,
  ) {}

  static async start(folder: string, chainId = 2484): Promise<ChainUnderTest> {
    const chain = await startLocalChain({ chainId, folder, port: 0 });
    const underTest = new ChainUnderTest(chain, await ensureDevelopmentToken(chain.rpcUrl));
    await underTest.call('evm_setAutomine', [false]);
    return underTest;
  }

  get chainId(): number {
    return this.chain.chainId;
  }

  get rpcUrl(): string {
    return this.chain.rpcUrl;
  }

  /** The value of `CHAINS` for a program that follows this chain. */
  get setting(): string {
    return this.settingThrough(this.rpcUrl);
  }

  /** The value of `CHAINS` for a program that follows this chain through a provider. */
  settingThrough(rpcUrl: string): string {
    return JSON.stringify([{ chainId: this.chain.chainId, rpcUrls: [rpcUrl], confirmations: 12 }]);
  }

  /** Mines blocks with this many transfers each. */
  async mine(blocks: number, transfersPerBlock: number): Promise<void> {
    for (let block = 0; block < blocks; block += 1) {
      // Sets the nonces, because anvil may give two concurrent transactions the same one.
      const nonce = Number(await this.call('eth_getTransactionCount', [OWNER, 'latest']));
      await this.callMany(
        'eth_sendTransaction',
        Array.from({ length: transfersPerBlock }, (_, at) => [this.transfer(nonce + at)]),
      );
      await this.call('evm_mine', []);
    }
  }

  /** @returns a function that reverts the chain to its current state */
  async snapshot(): Promise<() => Promise<void>> {
    const id = await this.call('evm_snapshot', []);
    return async () => {
      await this.call('evm_revert', [id]);
      // Reverted transactions may be in the mempool, from which they would be mined again.
      await this.call('anvil_dropAllTransactions', []);
    };
  }

  /** The number of the newest block. */
  async head(): Promise<number> {
    return Number(await this.call('eth_blockNumber', []));
  }

  /** The `Id` of every transfer on the chain, in chain order. */
  async transferIds(): Promise<string[]> {
    return (await this.transfers()).map(({ id }) => id);
  }

  /** Every transfer on the chain, in chain order. */
  async transfers(): Promise<{ id: string; from: string; to: string; value: string }[]> {
    const filter = { fromBlock: '0x0', toBlock: 'latest', address: this.token.address, topics: [TRANSFER_TOPIC] };
    const logs = (await this.call('eth_getLogs', [filter])) as RawLog[];
    return logs.map(({ blockHash, transactionHash, logIndex, topics, data }) => {
      const [from, to, value] = token.decodeEventLog('Transfer', data, topics).toArray() as [string, string, bigint];
      const id = [String(this.chain.chainId), blockHash, transactionHash, String(Number(logIndex))].join(':');
      return { id, from, to, value: String(value) };
    });
  }

  stop(): Promise<void> {
    return this.chain.stop();
  }

  private amount = 0;

  private transfer(nonce: number): object {
    this.amount += 1;
    const to = `0x${(0xabc000 + (this.amount % 7)).toString(16).padStart(40, '0')}`;
    return {
      from: OWNER,
      to: this.token.address,
      data: token.encodeFunctionData('transfer', [to, this.amount]),
      gas: '0x186a0',
      nonce: `0x${nonce.toString(16)}`,
    };
  }

  private async call(method: string, params: unknown[]): Promise<unknown> {
    const [result] = await this.callMany(method, [params]);
    return result;
  }

  private async callMany(method: string, calls: readonly unknown[][]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (let at = 0; at < calls.length; at += CALLS_AT_ONCE) {
      const batch = calls.slice(at, at + CALLS_AT_ONCE).map((params, id) => ({ jsonrpc: '2.0', id, method, params }));
      const response = await fetch(this.chain.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(batch),
      });
      const answers = (await response.json()) as { result?: unknown; error?: { message: string } }[];
      for (const { result, error } of answers) {
        if (error) throw new Error(`${method}: ${error.message}`);
        results.push(result);
      }
    }
    return results;
  }
}
