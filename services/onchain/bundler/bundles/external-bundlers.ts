import type { Logger } from 'pino';
import { EndpointAddress } from '../../../../shared/chain/client/endpoints/endpoint-address.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../../shared/primitives/log-throttle.ts';
import { answeredOperationOf } from '../../operations/domain/user-operation.ts';
import type { OperationsBlock } from '../../chain/operations-chain.ts';
import type { BundleWork, SentBundles } from './bundle-work.ts';
import type { Mempool, MempoolEntry } from '../mempool/mempool.ts';
import type { RetryPolicy } from '../mempool/retry-policy.ts';

const OPERATIONS_AT_ONCE = 50;
/** An operation that no block includes within this time goes to the next bundler. */
const NEXT_AFTER_MS = 15_000;
const ANSWERS_WITHIN_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1_024;

interface ExternalBundlersOptions {
  /** URLs of ERC-7769 bundlers, tried in turn. */
  urls: readonly string[];
  entryPoint: string;
  mempool: Mempool;
  retries: RetryPolicy;
  clock: Clock;
  logger: Logger;
}

/**
 * Submits operations to external bundlers. If a bundler fails or drops an operation, the same signed operation goes to
 * the next bundler.
 */
export class ExternalBundlers implements BundleWork {
  private readonly reported = new LogThrottle();
  /** How often each operation was submitted: each time, another bundler is tried first. */
  private readonly submissions = new WeakMap<MempoolEntry, number>();
  private readonly addresses: readonly EndpointAddress[];

  constructor(private readonly options: ExternalBundlersOptions) {
    this.addresses = options.urls.map((url) => new EndpointAddress(url));
  }

  get hasWaiting(): boolean {
    return this.next(0n, 1).length > 0;
  }

  assign(): void {
    // Nothing to do: the external bundlers make the bundles.
  }

  onNewBlock(): void {
    // Nothing to do: the external bundlers follow the chain themselves.
  }

  onMined(): Promise<void> {
    return Promise.resolve();
  }

  onLost(): void {
    // Nothing to do: the external bundlers make the bundles.
  }

  resubmitStuck(): Promise<void> {
    return Promise.resolve();
  }

  async sendBundles({ baseFeePerGas }: Pick<OperationsBlock, 'baseFeePerGas'>): Promise<SentBundles> {
    const ready = this.next(baseFeePerGas, OPERATIONS_AT_ONCE);
    // One after the other: `next` returns an operation after the operations that it needs.
    for (const entry of ready) await this.submit(entry);
    return { hasProgressed: ready.length > 0, transactionHashes: [] };
  }

  private next(baseFee: bigint, max: number): MempoolEntry[] {
    // Foreign operations, which clients signed, need no isolation here: the external bundler makes the bundles.
    return this.options.mempool.next({ nowMs: this.options.clock.elapsed(), baseFee, max, takesForeign: true });
  }

  private async submit(entry: MempoolEntry): Promise<void> {
    const { clock, mempool, retries, logger } = this.options;
    const first = this.submissions.get(entry) ?? 0;
    this.submissions.set(entry, first + 1);
    mempool.hold(entry.id, clock.elapsed() + NEXT_AFTER_MS);
    const from = first % this.addresses.length;
    for (const address of [...this.addresses.slice(from), ...this.addresses.slice(0, from)]) {
      const answer = await this.request(address, entry);
      if (answer.kind === 'taken') return;
      if (answer.kind === 'refused') {
        await retries.backOff(entry, answer.reason);
        return;
      }
      const { host } = new URL(address.url);
      if (this.reported.isDue(host))
        logger.warn({ bundler: host, reason: address.redact(answer.reason) }, 'a bundler failed: the next is tried');
    }
  }

  private async request(
    { url, headers: credentials }: EndpointAddress,
    { operation, userOpHash }: MempoolEntry,
  ): Promise<{ kind: 'taken' } | { kind: 'refused' | 'failed'; reason: string }> {
    const params = [answeredOperationOf(operation), this.options.entryPoint];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendUserOperation', params });
    try {
      const headers = { 'content-type': 'application/json', ...credentials };
      const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
      const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
      const { result, error } = readAnswer(await readBounded(answer));
      if (result === userOpHash) return { kind: 'taken' };
      const { code, message = '' } = error ?? {};
      // The bundler already knows or included the operation: the blocks will show the outcome.
      if (/already (?:known|exists|in|submitted)/i.test(message)) return { kind: 'taken' };
      const isRefusal = code !== undefined && code <= -32_500 && code > -32_600;
      if (isRefusal) return { kind: 'refused', reason: /AA\d\d.*/.exec(message)?.[0] ?? message };
      return { kind: 'failed', reason: message === '' ? 'the answer is not one of ERC-7769' : message };
    } catch (error) {
      return { kind: 'failed', reason: error instanceof Error ? error.name : 'no answer' };
    }
  }
}

interface Answer {
  result?: unknown;
  error?: { code?: number; message?: string };
}

const readAnswer = (text: string): Answer => {
  const { result, error } = Object(JSON.parse(text)) as { result?: unknown; error?: unknown };
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  return {
    result,
    error: {
      ...(typeof code === 'number' && { code }),
      ...(typeof message === 'string' && { message: message.slice(0, 256) }),
    },
  };
};

const readBounded = async ({ body }: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};
