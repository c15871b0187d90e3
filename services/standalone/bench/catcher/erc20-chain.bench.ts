import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Erc20History } from './erc20-history.ts';
import { EMITTING_CONTRACT, TRANSFER } from './transfers.ts';

/**
 * A stand-in for a node, as a program of its own: the chain of one token, with this many transfers. Answers with at
 * most 10,000 logs, as providers do. `bench_mine` adds a block; `bench_seen` reports the requests. Prints its URL.
 */
const LOGS_MAX = 10_000;
const FINAL_DEPTH = 64;
const [transfers = '0', timestamps = 'on'] = process.argv.slice(2);
const history = new Erc20History(Number(transfers), timestamps === 'on');

interface Call {
  id?: unknown;
  method?: string;
  params?: unknown[];
}
interface LogQuery {
  blockHash?: string;
  fromBlock?: string;
  toBlock?: string;
  address?: string | string[];
  topics?: (string | string[] | null)[];
}

/** Over all requests: calls per method, the first request for logs, and when the newest block was first shown. */
const seen = { calls: {} as Record<string, number>, logsFirstAt: 0, headFirstAt: 0 };
let shownHead = -1;

/** The error that refuses a call. */
class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

const numberOf = (name: unknown): number => {
  if (name === 'finalized' || name === 'safe') return Math.max(0, history.head - FINAL_DEPTH);
  if (name === 'earliest') return 0;
  if (typeof name === 'string' && name.startsWith('0x')) return Number(name);
  if (history.head > shownHead) {
    shownHead = history.head;
    seen.headFirstAt = Date.now();
  }
  return history.head;
};

const passes = (wanted: string | readonly string[] | null | undefined, value: string): boolean =>
  wanted == null || wanted.length === 0 || [wanted].flat().some((one) => one.toLowerCase() === value);

const rangeOf = ({ blockHash, fromBlock = 'latest', toBlock = 'latest' }: LogQuery) => {
  if (blockHash === undefined) return { from: numberOf(fromBlock), to: numberOf(toBlock) };
  const number = history.numberOf(blockHash);
  if (number === undefined) throw new Refused(-32_000, 'unknown block');
  return { from: number, to: number };
};

const logs = (query: LogQuery): string => {
  seen.logsFirstAt ||= Date.now();
  const { from, to } = rangeOf(query);
  if (!passes(query.address, EMITTING_CONTRACT) || !passes(query.topics?.[0], TRANSFER)) return '[]';
  if (history.transfersOf(from, to) > LOGS_MAX) {
    const last = history.lastBlockWith(from, LOGS_MAX);
    const range = `[0x${from.toString(16)}, 0x${last.toString(16)}]`;
    throw new Refused(-32_005, `query returned more than 10000 results. Try with this block range ${range}.`);
  }
  return history.logs(from, to);
};

/** Each method returns JSON. */
const methods: Record<string, (...params: never[]) => string> = {
  eth_chainId: () => '"0x9b4"',
  net_version: () => '"2484"',
  web3_clientVersion: () => '"stand-in/1"',
  eth_syncing: () => 'false',
  eth_blockNumber: () => `"0x${numberOf('latest').toString(16)}"`,
  eth_getCode: (address: string) => (address.toLowerCase() === EMITTING_CONTRACT ? '"0x00"' : '"0x"'),
  eth_getBlockByNumber: (name: string, isWhole: boolean) => history.block(numberOf(name), isWhole),
  eth_getBlockByHash: (hash: string, isWhole: boolean) => history.block(history.numberOf(hash) ?? Infinity, isWhole),
  eth_getLogs: logs,
  bench_mine: () => {
    history.mine();
    const { head } = history;
    return JSON.stringify({ number: head, transfers: history.transfersOf(head, head) });
  },
  bench_seen: () => JSON.stringify(seen),
};

const answer = ({ id = null, method = '', params = [] }: Call): string => {
  const envelope = `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`;
  seen.calls[method] = (seen.calls[method] ?? 0) + 1;
  try {
    const run = methods[method];
    if (!run) throw new Refused(-32_601, `the method ${method} does not exist/is not available`);
    return `${envelope},"result":${run(...(params as never[]))}}`;
  } catch (error) {
    const { code = -32_603, message } = error as Partial<Refused>;
    return `${envelope},"error":${JSON.stringify({ code, message })}}`;
  }
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

const server = createServer((request, response) => {
  void bodyOf(request).then((body) => {
    const asked = JSON.parse(body) as Call | Call[];
    const text = Array.isArray(asked) ? `[${asked.map(answer).join(',')}]` : answer(asked);
    const bytes = Buffer.from(text, 'latin1');
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes);
  });
}).listen(0, '127.0.0.1');
server.keepAliveTimeout = 60_000;
await once(server, 'listening');
process.once('disconnect', () => process.exit());
process.stdout.write(`http://127.0.0.1:${String((server.address() as AddressInfo).port)} is ready\n`);
