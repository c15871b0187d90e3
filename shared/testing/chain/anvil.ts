import { HARDFORKS, type Hardfork } from '../../chain/hardforks.ts';
import { startLocalChain } from '../../local-chain/local-chain-process.ts';

interface Emitted {
  address: string;
  topics: readonly string[];
  data: string;
}

const CHAIN_ID = 2484;
/** All specs on chains can be run at an older fork: `HARDFORK=london npm test -- account`. */
const HARDFORK: Hardfork = HARDFORKS.find((one) => one === process.env['HARDFORK']) ?? 'osaka';
const TOPICS_MAX = 4;
const WORD = 32;
const GAS = 1_000_000;
/** The sum for call data (40), copying it (3) and the log (8), and the growing cost of memory. */
const GAS_PER_BYTE = 60;

const byte = (value: number): string => value.toString(16).padStart(2, '0');
const word = (value: number): string => value.toString(16).padStart(WORD * 2, '0');

/** Longer than a busy machine needs to write the state of a chain. */
const STOPS_WITHIN_MS = 60_000;

/** A real chain that mines on request. */
export class Anvil {
  private readonly emitters = new Set<string>();
  private calls = 0;

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
  static async start(folder: string, chainId = CHAIN_ID, hardfork = HARDFORK): Promise<Anvil> {
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

  async call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: (this.calls += 1), method, params });
    const response = await fetch(this.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Mines one block with these logs, each in its own transaction. Their addresses become contracts that emit. */
  async mine(logs: readonly Emitted[]): Promise<void> {
    await this.call('evm_setAutomine', false);
    for (const { address, topics, data } of logs) {
      if (!this.emitters.has(address)) await this.call('anvil_setCode', address, EMITTER);
      this.emitters.add(address);
      const input = `0x${word(topics.length)}${[...topics, data].map((hex) => hex.slice(2)).join('')}`;
      const gas = GAS + (GAS_PER_BYTE * data.length) / 2;
      const transaction = { from: this.sender, to: address, input, gas: `0x${gas.toString(16)}` };
      await this.call('eth_sendTransaction', transaction);
    }
    await this.call('evm_mine');
    await this.call('evm_setAutomine', true);
  }

  /** Reverts the newest blocks. Blocks mined afterwards have other hashes. */
  async rollBack(depth: number): Promise<void> {
    await this.call('anvil_rollback', depth);
    // Code that was set in a reverted block is gone.
    this.emitters.clear();
    await this.call('evm_increaseTime', 1);
  }
}

/** EVM code that emits one log. Its call data: the number of topics (a word), the topics, the data. */
const EMITTER = ((): string => {
  const branches = Array.from({ length: TOPICS_MAX + 1 }, (_, topics) => {
    const start = byte(WORD * (topics + 1));
    const pushTopics = Array.from({ length: topics }, (_, at) => `60${byte(WORD * (topics - at))}35`).join('');
    // JUMPDEST, topics, size = CALLDATASIZE - start, CALLDATACOPY(0, start, size), LOGn(0, size, ...), STOP
    return `5b${pushTopics}60${start}36038060${start}6000376000${byte(0xa0 + topics)}00`;
  });
  // The number of topics stays on the stack; for each branch: DUP1, PUSH1 n, EQ, PUSH1 target, JUMPI.
  let at = 3 + branches.length * 7 + 1;
  const jumps = branches.map((branch, topics) => {
    const jump = `8060${byte(topics)}1460${byte(at)}57`;
    at += branch.length / 2;
    return jump;
  });
  return `0x600035${jumps.join('')}00${branches.join('')}`;
})();
