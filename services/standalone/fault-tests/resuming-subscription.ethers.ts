import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import { EventStream } from '../../../shared/client/event-stream.socketio.ts';
import type { Listener } from '../../../shared/client/open-subscription.ts';
import { signIn } from '../../../shared/testing/http-caller.ethers.ts';
import { randomWallet } from '../../../shared/testing/random-wallet.ethers.ts';
import type { ChainChange } from './chain-changes.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** A subscription to transfers, which the client library keeps up, and what it has received. */
export class ResumingSubscription {
  /** In the order of their arrival, without repeats. */
  readonly received: ChainChange[] = [];
  /** What must not happen: messages that are not kept any more, a repeat, or a subscription that ends. */
  readonly failures: string[] = [];
  private readonly cursors = new Set<string>();

  private constructor(private readonly stream: EventStream) {}

  /** Subscribes to the transfers of a contract, from the first block on. */
  static async open(development: DevelopmentFile, contractAddress: string): Promise<ResumingSubscription> {
    const wallet = randomWallet();
    const token = async () => (await retryUntilAnswered(() => signIn(development, wallet))).accessToken;
    const stream = new EventStream(development.streamUrl, token);
    const subscription = new ResumingSubscription(stream);
    await stream.open();
    const { chainId } = development;
    await stream.subscribe(
      { chainId, contractAddress, eventSignature: 'Transfer', fromBlock: 0 },
      subscription.listener(),
    );
    return subscription;
  }

  close(): void {
    this.stream.close();
  }

  private listener(): Listener {
    return {
      event: ({ cursor, change, event }) => {
        if (this.cursors.has(cursor)) this.failures.push(`${event.Id} came again`);
        this.cursors.add(cursor);
        this.received.push({ change, id: event.Id });
      },
      gap: ({ requested, earliest }) => this.failures.push(`a gap from ${requested} to ${earliest}`),
      stopped: (reason) => this.failures.push(String(reason)),
    };
  }
}
