import type { Logger } from 'pino';
import type { StoredUserOperation } from '../../../schemas/events/user-operation.ts';
import { EndpointAddress } from '../../../shared/chain/endpoint-address.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import { storedOperation } from '../domain/user-operation.ts';
import type { OperationsBlock } from '../edge/operations-chain.ts';
import type { BundleWork } from './bundle-work.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { RefusedOperations } from './refused-operations.ts';

const OPERATIONS_AT_ONCE = 50;
/** An operation that no block has after that time is given to the next bundler. */
const NEXT_AFTER_MS = 15_000;
const ANSWERS_WITHIN_MS = 5_000;
const ANSWER_BYTES_MAX = 64 * 1_024;

interface ExternalBundlersOptions {
  /** Of ERC-7769 bundlers, tried in order. */
  urls: readonly string[];
  entryPoint: string;
  pool: OperationPool;
  refused: RefusedOperations;
  clock: Clock;
  logger: Logger;
}

/** Gives operations to bundlers of others: the same signed operation to the next, when one fails or forgets it. */
export class ExternalBundlers implements BundleWork {
  private readonly reported = new LogThrottle();
  /** How often each operation was given to some bundler. */
  private readonly given = new WeakMap<PooledOperation, number>();
  private readonly addresses: readonly EndpointAddress[];

  constructor(private readonly options: ExternalBundlersOptions) {
    this.addresses = options.urls.map((url) => new EndpointAddress(url));
  }

  get waits(): boolean {
    return this.next(0n, 1).length > 0;
  }

  assign(): void {
    // No executor of ours has anything.
  }

  blockCame(): void {
    // They follow the chain themselves.
  }

  mined(): Promise<void> {
    return Promise.resolve();
  }

  lost(): void {
    // No executor of ours has anything.
  }

  maintain(): Promise<void> {
    return Promise.resolve();
  }

  async fill({ baseFeePerGas }: Pick<OperationsBlock, 'baseFeePerGas'>): Promise<boolean> {
    const ready = this.next(baseFeePerGas, OPERATIONS_AT_ONCE);
    // In order: those that need others come after them.
    for (const one of ready) await this.give(one);
    return ready.length > 0;
  }

  private next(baseFee: bigint, max: number): PooledOperation[] {
    // What is whose matters to whoever puts them into bundles.
    return this.options.pool.next({ nowMs: this.options.clock.elapsed(), baseFee, max, takesForeign: true });
  }

  private async give(one: PooledOperation): Promise<void> {
    const { clock, refused, logger } = this.options;
    const first = this.given.get(one) ?? 0;
    this.given.set(one, first + 1);
    one.waitsUntil = clock.elapsed() + NEXT_AFTER_MS;
    const from = first % this.addresses.length;
    for (const address of [...this.addresses.slice(from), ...this.addresses.slice(0, from)]) {
      const answer = await this.ask(address, one);
      if (answer.kind === 'taken') return;
      if (answer.kind === 'refused') {
        await refused.refuse(one, answer.reason);
        return;
      }
      const { host } = new URL(address.url);
      if (this.reported.isDue(host))
        logger.warn({ bundler: host, reason: address.redact(answer.reason) }, 'a bundler failed: the next is tried');
    }
  }

  private async ask(
    { url, headers: credentials }: EndpointAddress,
    { operation, userOpHash }: PooledOperation,
  ): Promise<{ kind: 'taken' } | { kind: 'refused' | 'failed'; reason: string }> {
    const params = [rpcForm(storedOperation(operation)), this.options.entryPoint];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendUserOperation', params });
    try {
      const headers = { 'content-type': 'application/json', ...credentials };
      const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
      const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
      const { result, error } = readAnswer(await readBounded(answer));
      if (result === userOpHash) return { kind: 'taken' };
      const { code, message = '' } = error ?? {};
      // It has it already, or had it included: a block tells.
      if (/already (?:known|exists|in|submitted)/i.test(message)) return { kind: 'taken' };
      const isRefusal = code !== undefined && code <= -32_500 && code > -32_600;
      if (isRefusal) return { kind: 'refused', reason: /AA\d\d.*/.exec(message)?.[0] ?? message };
      return { kind: 'failed', reason: message === '' ? 'the answer is not that of a bundler' : message };
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

const AMOUNTS = new Set([
  'nonce',
  'callGasLimit',
  'verificationGasLimit',
  'preVerificationGas',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'paymasterVerificationGasLimit',
  'paymasterPostOpGasLimit',
]);

/** ERC-7769: quantities in hex, absent members left out. */
const rpcForm = (stored: StoredUserOperation): Record<string, string> =>
  Object.fromEntries(
    Object.entries(stored).flatMap(([member, value]) =>
      value === null ? [] : [[member, AMOUNTS.has(member) ? `0x${BigInt(value).toString(16)}` : value]],
    ),
  );
