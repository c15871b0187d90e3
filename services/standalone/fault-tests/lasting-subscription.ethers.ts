import { Wallet } from 'ethers';
import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { EventStream, type Listener } from '../../../shared/client/event-stream.socketio.ts';
import { signIn } from '../../../shared/testing/http-caller.ethers.ts';
import type { ChainChange } from './chain-changes.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** A client of the stream that stays: when its subscription is ended it asks again, from the newest cursor it was given. */
export class LastingSubscription {
  /** In the order in which they came, repeats left out. */
  readonly told: ChainChange[] = [];
  /** What may not happen to it: messages that were not kept, or a subscription that cannot be had again. */
  readonly troubles: string[] = [];
  private readonly cursors = new Set<string>();
  private newest: string | undefined;
  private isClosed = false;

  private constructor(
    private readonly stream: EventStream,
    private readonly asked: { chainId: number; contractAddress: string },
  ) {}

  /** Asks for the transfers of a contract, from the first block on. */
  static async open(development: DevelopmentFile, contractAddress: string): Promise<LastingSubscription> {
    const wallet = Wallet.createRandom();
    const token = async () => (await retryUntilAnswered(() => signIn(development, wallet))).accessToken;
    const stream = new EventStream(development.streamUrl, token);
    const subscription = new LastingSubscription(stream, { chainId: development.chainId, contractAddress });
    await stream.open();
    await subscription.ask();
    return subscription;
  }

  close(): void {
    this.isClosed = true;
    this.stream.close();
  }

  private async ask(): Promise<void> {
    const place = this.newest === undefined ? { fromBlock: 0 } : { cursor: this.newest };
    await retryUntilAnswered(() =>
      this.stream.subscribe({ ...this.asked, eventSignature: 'Transfer', ...place }, this.listener()),
    );
  }

  private listener(): Listener {
    return {
      event: ({ cursor, change, event }) => {
        if (this.cursors.has(cursor)) return;
        this.cursors.add(cursor);
        this.newest = cursor;
        this.told.push({ change, id: event.Id });
      },
      gap: ({ requested, earliest }) => this.troubles.push(`a gap from ${requested} to ${earliest}`),
      stopped: (code) => {
        if (this.isClosed) return;
        this.ask().catch((error: unknown) => this.troubles.push(`stopped as ${code}, and then ${String(error)}`));
      },
    };
  }
}
