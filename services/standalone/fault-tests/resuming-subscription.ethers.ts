import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { EventStream, type Listener } from '../../../shared/client/event-stream.socketio.ts';
import { signIn } from '../../../shared/testing/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/random-wallet.ethers.ts';
import type { ChainChange } from './chain-changes.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** A subscriber that subscribes again, from its newest cursor, whenever its subscription is stopped. */
export class ResumingSubscription {
  /** In the order of their arrival, without repeats. */
  readonly received: ChainChange[] = [];
  /** What must not happen: messages that are not kept any more, or a subscription that cannot be resumed. */
  readonly failures: string[] = [];
  private readonly cursors = new Set<string>();
  private newest: string | undefined;
  private isClosed = false;

  private constructor(
    private readonly stream: EventStream,
    private readonly contract: { chainId: number; contractAddress: string },
  ) {}

  /** Subscribes to the transfers of a contract, from the first block on. */
  static async open(development: DevelopmentFile, contractAddress: string): Promise<ResumingSubscription> {
    const wallet = randomWallet();
    const token = async () => (await retryUntilAnswered(() => signIn(development, wallet))).accessToken;
    const stream = new EventStream(development.streamUrl, token);
    const subscription = new ResumingSubscription(stream, { chainId: development.chainId, contractAddress });
    await stream.open();
    await subscription.subscribe();
    return subscription;
  }

  close(): void {
    this.isClosed = true;
    this.stream.close();
  }

  private async subscribe(): Promise<void> {
    const from = this.newest === undefined ? { fromBlock: 0 } : { cursor: this.newest };
    await retryUntilAnswered(() =>
      this.stream.subscribe({ ...this.contract, eventSignature: 'Transfer', ...from }, this.listener()),
    );
  }

  private listener(): Listener {
    return {
      event: ({ cursor, change, event }) => {
        if (this.cursors.has(cursor)) return;
        this.cursors.add(cursor);
        this.newest = cursor;
        this.received.push({ change, id: event.Id });
      },
      gap: ({ requested, earliest }) => this.failures.push(`a gap from ${requested} to ${earliest}`),
      stopped: (code) => {
        if (this.isClosed) return;
        this.subscribe().catch((error: unknown) => this.failures.push(`stopped as ${code}, and then ${String(error)}`));
      },
    };
  }
}
