import { FetchRequest, JsonRpcProvider, Network } from 'ethers';
import {
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
} from './chain-reader.ts';
import { checkHeader, checkLogs, UnbelievableAnswer } from './checked-answers.ts';
import { troubleOf } from './rpc-errors.ts';

const ANSWER_WITHIN_MS = 15_000;
/** How long an endpoint that failed or lied is left alone while there is another. */
const QUARANTINE_MS = 30_000;
const BATCH_CALLS_MAX = 50;

interface Endpoint {
  url: string;
  provider: JsonRpcProvider;
  /** Unix milliseconds. */
  quarantinedUntil: number;
}

interface RpcFailure {
  message?: string;
  error?: { code?: number; message?: string };
  info?: { error?: { message?: string }; responseStatus?: string };
  response?: { statusCode?: number } | null;
}

const quantity = (value: number): string => `0x${value.toString(16)}`;

/** Reads a chain through its JSON-RPC endpoints, the first that answers well; one that does not is left alone for a while. */
export class EthersChainReader implements ChainReader {
  private readonly endpoints: Endpoint[];

  constructor(
    readonly chainId: number,
    urls: readonly string[],
  ) {
    this.endpoints = urls.map((url) => {
      const request = new FetchRequest(url);
      request.timeout = ANSWER_WITHIN_MS;
      // The reader's caller decides when to ask again.
      request.setThrottleParams({ maxAttempts: 1 });
      const network = Network.from(chainId);
      const options = { staticNetwork: network, batchMaxCount: BATCH_CALLS_MAX, batchStallTime: 0, cacheTimeout: -1 };
      return { url, provider: new JsonRpcProvider(request, network, options), quarantinedUntil: 0 };
    });
  }

  async head(): Promise<BlockHeader> {
    return this.ask('eth_getBlockByNumber', ['latest', false], (answer) => {
      const header = checkHeader(answer);
      if (!header) throw new UnbelievableAnswer('there is no latest block');
      return header;
    });
  }

  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    return Promise.all(
      numbers.map((number) =>
        this.ask('eth_getBlockByNumber', [quantity(number), false], (answer) => {
          const header = checkHeader(answer);
          if (header && header.number !== number) throw new UnbelievableAnswer('a header of another block');
          return header;
        }),
      ),
    );
  }

  headerByHash(hash: string): Promise<BlockHeader | undefined> {
    return this.ask('eth_getBlockByHash', [hash, false], (answer) => {
      const header = checkHeader(answer);
      if (header && header.hash !== hash) throw new UnbelievableAnswer('a header of another block');
      return header;
    });
  }

  logsOfBlock({ hash, number }: Pick<BlockHeader, 'hash' | 'number'>, filter: LogFilter): Promise<ChainLog[]> {
    return this.ask('eth_getLogs', [{ blockHash: hash, ...wireFilter(filter) }], (answer) =>
      checkLogs(answer, { ...filter, from: number, to: number, blockHash: hash }),
    );
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    const asked = { fromBlock: quantity(from), toBlock: quantity(to), ...wireFilter(filter) };
    return this.ask('eth_getLogs', [asked], (answer) => checkLogs(answer, { ...filter, from, to }));
  }

  hasCode(address: string, block?: number): Promise<boolean> {
    return this.ask('eth_getCode', [address, block === undefined ? 'latest' : quantity(block)], (answer) => {
      if (typeof answer !== 'string' || !answer.startsWith('0x')) throw new UnbelievableAnswer('code is no hex');
      return answer.length > '0x'.length;
    });
  }

  /** Fails unless some endpoint serves this chain. @throws ChainUnavailable */
  async requireChain(): Promise<void> {
    await this.ask('eth_chainId', [], (answer) => {
      if (answer !== quantity(this.chainId)) throw new UnbelievableAnswer(`serves chain ${String(answer)}`);
    });
  }

  close(): void {
    for (const { provider } of this.endpoints) provider.destroy();
  }

  private async ask<Checked>(method: string, params: unknown[], check: (answer: unknown) => Checked): Promise<Checked> {
    const now = Date.now();
    const byTrust = this.endpoints.toSorted((left, right) => trust(left, now) - trust(right, now));
    const failures: string[] = [];
    let rangeTooLarge: unknown;
    for (const endpoint of byTrust) {
      try {
        const checked = check(await endpoint.provider.send(method, params));
        endpoint.quarantinedUntil = 0;
        return checked;
      } catch (error) {
        const { text, status } = failureOf(error);
        if (method === 'eth_getLogs' && troubleOf(text, status) === 'range-too-large') rangeTooLarge = error;
        else endpoint.quarantinedUntil = Date.now() + QUARANTINE_MS;
        failures.push(`${new URL(endpoint.url).host}: ${text}`);
      }
    }
    const said = `${method} of chain ${String(this.chainId)}: ${failures.join('; ')}`;
    if (rangeTooLarge !== undefined) throw new RangeTooLarge(said, { cause: rangeTooLarge });
    throw new ChainUnavailable(said);
  }
}

const trust = ({ quarantinedUntil }: Endpoint, now: number): number => (quarantinedUntil > now ? quarantinedUntil : 0);

const wireFilter = ({ addresses, topics }: LogFilter): object => ({
  ...(addresses.length > 0 ? { address: addresses } : {}),
  ...(topics.length > 0 ? { topics: [topics] } : {}),
});

/** The provider's own words; ethers wraps them in several ways. Never the address asked, which may hold a key. */
const failureOf = (error: unknown): { text: string; status: number | undefined } => {
  if (error instanceof UnbelievableAnswer) return { text: error.message, status: undefined };
  const { message, error: rpc, info, response } = error as RpcFailure;
  const text = rpc?.message ?? info?.error?.message ?? message ?? String(error);
  return { text: text.slice(0, 300).replaceAll(/https?:\/\/\S+/g, '<url>'), status: response?.statusCode };
};
