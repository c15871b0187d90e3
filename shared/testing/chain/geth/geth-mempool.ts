import { eventually } from '../../eventually.ts';
import type { GethProcess } from './geth-process.jose.ts';

/** The transactions of each account, by nonce. */
type PooledAccounts = Record<string, Record<string, unknown>>;

/** Longer than a busy machine needs. */
const FOLLOWS_WITHIN_MS = 60_000;

/** The mempool of a geth, which follows the head of the chain in the background. */
export class GethMempool {
  constructor(private readonly node: GethProcess) {}

  /** Returns the next nonce of an account: `latest` in the newest block, `pending` also after its mempool transactions. */
  async nextNonce(address: string, at: 'latest' | 'pending'): Promise<number> {
    return Number(await this.node.call('eth_getTransactionCount', address, at));
  }

  /**
   * Waits until the mempool has the state of the head, and has moved each transaction that could be in the next block
   * out of its queue.
   * @param senders of the transactions that a block has just included, or that a removed block had
   */
  async untilItFollows(senders: readonly string[]): Promise<void> {
    const follows = () => this.follows(senders);
    await eventually(follows, FOLLOWS_WITHIN_MS, 'the mempool of geth must follow its head');
  }

  private async follows(senders: readonly string[]): Promise<boolean> {
    const all = (await this.node.call('txpool_inspect')) as Record<'pending' | 'queued', PooledAccounts>;
    const [pending, queued] = [byAddress(all.pending), byAddress(all.queued)];
    for (const address of new Set([...senders.map(lowerCase), ...pending.keys(), ...queued.keys()])) {
      const next = await this.nextNonce(address, 'pending');
      const executable = Object.keys(pending.get(address) ?? {}).length;
      if (next !== (await this.nextNonce(address, 'latest')) + executable) return false;
      if (Object.keys(queued.get(address) ?? {}).some((nonce) => Number(nonce) <= next)) return false;
    }
    return true;
  }
}

const lowerCase = (address: string): string => address.toLowerCase();
const byAddress = (accounts: PooledAccounts): Map<string, object> =>
  new Map(Object.entries(accounts).map(([address, transactions]) => [lowerCase(address), transactions]));
