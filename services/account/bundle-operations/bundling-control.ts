import type { BundlerEvent } from '../../../schemas/events/bundler-events.ts';
import type { TransactionEvent } from '../../../schemas/events/transaction-events.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { answerRequest, bundlingFold, type BundleRequest, type Bundling } from '../domain/bundling.ts';
import type { OperationPool } from './operation-pool.ts';
import type { Records } from './records.ts';

/** How long a request waits for an executor that is busy, or for gas that is cheap enough. */
const ANSWERED_WITHIN_MS = 5_000;

export type ControlEvent = BundlerEvent | Extract<TransactionEvent, { type: 'TxDelayed' }>;
export const CONTROLS = [
  'BundlingModeSet',
  'BundleRequested',
  'TxDelayed',
] as const satisfies readonly ControlEvent['type'][];

/** What `debug_bundler_*` wants of the process that bundles: whichever process was asked has stored it. */
export class BundlingControl {
  private bundling: Bundling = bundlingFold.initial;
  private isStale = true;
  private readonly delayed = new Set<string>();

  constructor(
    private readonly records: Pick<Records, 'bundling' | 'load' | 'chainId'>,
    private readonly clock: Clock,
  ) {}

  /** Notes what was stored: it counts from the next `refresh` on. */
  take({ type, data }: ControlEvent): void {
    if (type === 'TxDelayed') this.delayed.add(data.transactionId);
    else this.isStale = true;
  }

  async refresh(pool: OperationPool): Promise<void> {
    for (const id of this.delayed) {
      this.delayed.delete(id);
      if (pool.get(id)) pool.put(id, await this.records.load(id));
    }
    while (this.isStale) {
      this.isStale = false;
      this.bundling = await this.records.bundling();
    }
  }

  /** Whether nothing is to be bundled now. */
  get holdsBack(): boolean {
    return this.bundling.mode === 'manual' && !this.request;
  }

  /** The oldest that waits for its bundle. */
  get request(): BundleRequest | undefined {
    return this.bundling.requests[0];
  }

  /**
   * @param transactionHash of a bundle that was sent just now, if one was
   * @param waits whether there are operations of which a bundle can be made
   */
  async answer(transactionHash: string | undefined, waits: boolean): Promise<void> {
    const { request } = this;
    if (!request) return;
    const isLate = this.clock.now() > request.requestedAt + ANSWERED_WITHIN_MS;
    if (transactionHash === undefined && waits && !isLate) return;
    const answer = { requestId: request.requestId, transactionHash: transactionHash ?? null };
    this.bundling = await this.records.bundling((bundling) => answerRequest(bundling, this.records.chainId, answer));
  }
}
