import type { MemoryChain } from './chain-reader.memory.ts';
import type { ChainLog, LogFilter } from '../../chain/chain-reader.ts';
import { hex, RpcError, toWireHeader, toWireLog, toWireReceipt, transactionsOf } from './wire-forms.ts';

interface Request {
  id: number;
  method: string;
  params: readonly unknown[];
}

/** The filter of an eth_getLogs request. */
interface WireFilter {
  address?: string[];
  topics?: [string[]];
  blockHash?: string;
  fromBlock?: string;
  toBlock?: string;
}

/** A word of zeros. */
const NOTHING = `0x${'0'.repeat(64)}`;

/** The answers of a JSON-RPC node, of a chain in memory. They are true unless a test changes them. */
export class NodeAnswers {
  /** The methods, in the order of the calls. */
  readonly asked: string[] = [];
  /** The number of HTTP requests. */
  requests = 0;
  /** Changes a result, or throws an RpcError to refuse. */
  lie: (method: string, truth: unknown, params: readonly unknown[]) => unknown = (_method, truth) => truth;
  /** Receipts by transaction hash. */
  readonly receipts = new Map<string, object>();

  constructor(private readonly chain: MemoryChain) {}

  /** Answers the body of one HTTP request: a call, or a batch. */
  protected async answerTo(body: string): Promise<string> {
    this.requests += 1;
    const asked = JSON.parse(body) as Request | Request[];
    const answers = Array.isArray(asked)
      ? await Promise.all(asked.map((one) => this.answer(one)))
      : await this.answer(asked);
    return JSON.stringify(answers);
  }

  private async answer({ id, method, params }: Request): Promise<object> {
    this.asked.push(method);
    try {
      return { jsonrpc: '2.0', id, result: this.lie(method, (await this.truth(method, params)) ?? null, params) };
    } catch (error) {
      const { message, more } = error as RpcError;
      return { jsonrpc: '2.0', id, error: { code: -32_000, message, ...more } };
    }
  }

  private async truth(method: string, params: readonly unknown[]): Promise<unknown> {
    const [first] = params;
    switch (method) {
      case 'eth_chainId':
        return hex(this.chain.chainId);
      case 'eth_getBalance':
        return '0x0';
      case 'eth_getCode':
        return (await this.chain.hasCode()) ? '0xfe' : '0x';
      case 'eth_call':
      case 'eth_getStorageAt':
        return NOTHING;
      case 'eth_getTransactionReceipt':
        return this.receipts.get(String(first)) ?? toWireReceipt(this.chain.logs, String(first));
      case 'eth_getBlockReceipts': {
        const logs = await this.chain.logsOfBlock({ hash: String(first) }, { addresses: [], topics: [] });
        return transactionsOf(logs).map((transaction) => toWireReceipt(logs, transaction));
      }
      case 'eth_getBlockByHash': {
        const header = toWireHeader(await this.chain.headerByHash(String(first)));
        const logs = this.chain.logs.filter(({ blockHash }) => blockHash === first);
        return header && { ...header, transactions: transactionsOf(logs) };
      }
      case 'eth_getBlockByNumber': {
        if (first === 'finalized') return toWireHeader((await this.chain.headAndFinalized()).finalized);
        if (first === 'latest') return toWireHeader(await this.chain.head());
        return toWireHeader((await this.chain.headersByNumber([Number(first)]))[0]);
      }
      case 'eth_getLogs':
        return (await this.logs(first as WireFilter)).map(toWireLog);
      default:
        throw new RpcError(`the method ${method} does not exist`);
    }
  }

  private logs({ address, topics, blockHash, fromBlock, toBlock }: WireFilter): Promise<ChainLog[]> {
    const filter: LogFilter = { addresses: address ?? [], topics: topics?.[0] ?? [] };
    if (blockHash !== undefined) return this.chain.logsOfBlock({ hash: blockHash }, filter);
    return this.chain.logsOfRange(Number(fromBlock), Math.min(Number(toBlock), this.chain.tip.number), filter);
  }
}
