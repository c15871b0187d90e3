import type { BundlerEvent } from '../../../schemas/events/onchain/bundler-events.ts';
import type { TransactionEvent } from '../../../schemas/events/onchain/transaction-events.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { answerRequest, bundlingFold, type BundleRequest, type Bundling } from './domain/bundling.ts';
import type { Mempool } from './mempool/mempool.ts';
import type { BundlerStreams } from './mempool/bundler-streams.ts';

/**
 * A `debug_bundler_sendBundleNow` request waits this long for a free executor or a low enough base fee. After that, the
 * answer is that no bundle was sent.
 */
const ANSWERED_WITHIN_MS = 5_000;

export type ControlEvent = BundlerEvent | Extract<TransactionEvent, { type: 'TxDelayed' }>;
export const CONTROL_TYPES = [
  'BundlingModeSet',
  'BundleRequested',
  'TxDelayed',
] as const satisfies readonly ControlEvent['type'][];

/**
 * Applies the `debug_bundler_*` calls that set the bundling mode, request a bundle or clear the mempool. Any process
 * may receive a call and store it as an event; the process that sends bundles reads the event (decision 0042).
 */
export class BundlingControl {
  private bundling: Bundling = bundlingFold.initial;
  private isStale = true;
  private readonly delayed = new Set<string>();

  constructor(
    private readonly streams: Pick<BundlerStreams, 'bundling' | 'loadTransaction' | 'chainId'>,
    private readonly clock: Clock,
  ) {}

  /** Remembers that an event was stored; the next `refresh` applies the event. */
  note({ type, data }: ControlEvent): void {
    if (type === 'TxDelayed') this.delayed.add(data.transactionId);
    else this.isStale = true;
  }

  async refresh(mempool: Mempool): Promise<void> {
    for (const id of this.delayed) {
      this.delayed.delete(id);
      if (mempool.get(id)) mempool.put(id, await this.streams.loadTransaction(id));
    }
    while (this.isStale) {
      this.isStale = false;
      this.bundling = await this.streams.bundling();
    }
  }

  /** Whether no bundle may be sent now: the bundling mode is manual, and no request for a bundle is open. */
  get isPaused(): boolean {
    return this.bundling.mode === 'manual' && !this.request;
  }

  /** The oldest request for a bundle that has no answer; `undefined` if there is none. */
  get request(): BundleRequest | undefined {
    return this.bundling.requests[0];
  }

  /**
   * Answers the oldest request for a bundle once a bundle was sent, no operation waits, or the request is too old.
   * @param transactionHash of the bundle that was just sent, if any
   * @param hasWaiting whether operations wait for a bundle
   */
  async answer(transactionHash: string | undefined, hasWaiting: boolean): Promise<void> {
    const { request } = this;
    if (!request) return;
    const isLate = this.clock.now() > request.requestedAt + ANSWERED_WITHIN_MS;
    if (transactionHash === undefined && hasWaiting && !isLate) return;
    const answer = { requestId: request.requestId, transactionHash: transactionHash ?? null };
    this.bundling = await this.streams.bundling((bundling) => answerRequest(bundling, this.streams.chainId, answer));
  }
}
