import type { Clock } from '../../../../shared/primitives/clock.ts';
import { bannedUntil } from '../../reputation/domain/entity.ts';
import type { MempoolEntry } from './mempool.ts';
import type { BundlerStreams } from './bundler-streams.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** The factory and paymaster of this service. They serve many accounts and are trusted: bans do not apply to them. */
export interface OwnContracts {
  accountFactory: string;
  paymaster: string;
}

const BANNED = 'its sender, factory or paymaster reverted a bundle: the operation waits until an hour after that';

interface ForeignEntitiesOptions {
  streams: Pick<BundlerStreams, 'entity' | 'ban'>;
  retries: Pick<RetryPolicy, 'backOff'>;
  own: OwnContracts;
  clock: Clock;
}

/**
 * Bans the sender, factory and paymaster of a foreign operation, which a client signed, if its bundle reverted: a
 * foreign operation may succeed in a trial and still revert in a block (decision 0058).
 */
export class ForeignEntities {
  constructor(private readonly options: ForeignEntitiesOptions) {}

  /** Delays an operation whose sender, factory or paymaster is banned, at least until the ban ends. */
  async deferBanned(entry: MempoolEntry): Promise<void> {
    const { streams, retries, clock } = this.options;
    const entities = await Promise.all(this.addressesOf(entry).map((address) => streams.entity(address)));
    const leftMs = Math.max(0, ...entities.map(bannedUntil)) - clock.now();
    if (leftMs > 0) await retries.backOff(entry, BANNED, leftMs);
  }

  /**
   * Bans the sender, factory and paymaster of an operation that was alone in a reverted bundle. Repeating the ban for
   * the same bundle changes nothing.
   */
  async ban(entry: Pick<MempoolEntry, 'operation'>, transactionHash: string): Promise<void> {
    await Promise.all(this.addressesOf(entry).map((address) => this.options.streams.ban(address, transactionHash)));
  }

  private addressesOf({ operation: { sender, factory, paymaster } }: Pick<MempoolEntry, 'operation'>): string[] {
    const { own } = this.options;
    return [
      sender,
      ...(factory && factory.address !== own.accountFactory ? [factory.address] : []),
      ...(paymaster && paymaster.address !== own.paymaster ? [paymaster.address] : []),
    ];
  }
}
