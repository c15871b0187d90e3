import type { DevelopmentFile } from '../../../schemas/development-file.ts';
import type { AnnalsClient } from '../../../shared/client/annals-client.ts';
import { randomWallet } from '../../../shared/testing/http/random-wallet.ethers.ts';
import { developmentClient } from '../development-client.ethers.ts';
import type { ChainChange } from './chain-changes.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

/** A subscription to transfers, which the client library maintains, and the events that it has received. */
export class ResumingSubscription {
  /** In the order of their arrival, without repeats. */
  readonly received: ChainChange[] = [];
  /** Failures: messages that are no longer kept, a repeat, or a subscription that ends. */
  readonly failures: string[] = [];
  private readonly cursors = new Set<string>();
  private readonly ending = new AbortController();

  /** Subscribes to the transfers of a contract, from the first block on. */
  static async open(development: DevelopmentFile, contractAddress: string): Promise<ResumingSubscription> {
    const client = developmentClient(development);
    await retryUntilAnswered(() => client.login.wallet(randomWallet()));
    const subscription = new ResumingSubscription();
    const subscribed = Promise.withResolvers<undefined>();
    const { chainId } = development;
    const events = client.events({
      ...{ chainId, contractAddress, eventSignature: 'Transfer', fromBlock: 0, signal: subscription.ending.signal },
      onState: ({ state }) => {
        if (state !== 'connecting') subscribed.resolve(undefined);
      },
    });
    subscription.read(events).catch((error: unknown) => {
      if (!subscription.ending.signal.aborted) subscription.failures.push(String(error));
      subscribed.reject(error);
    });
    await subscribed.promise;
    return subscription;
  }

  close(): void {
    this.ending.abort();
  }

  private async read(events: ReturnType<AnnalsClient['events']>): Promise<void> {
    for await (const { cursor, change, event } of events) {
      if (this.cursors.has(cursor)) this.failures.push(`${event.Id} came again`);
      this.cursors.add(cursor);
      this.received.push({ change, id: event.Id });
    }
  }
}
