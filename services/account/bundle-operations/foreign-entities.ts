import type { Clock } from '../../../shared/primitives/clock.ts';
import { bannedUntil } from '../domain/entity.ts';
import type { PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import type { RefusedOperations } from './refused-operations.ts';

/** The contracts that carry out operations of many accounts, and are known to behave. */
export interface OwnContracts {
  accountFactory: string;
  paymaster: string;
}

const BANNED = 'its sender, factory or paymaster reverted a bundle: it waits until that is an hour ago';

interface ForeignEntitiesOptions {
  records: Pick<Records, 'entity' | 'ban'>;
  refused: Pick<RefusedOperations, 'refuse'>;
  own: OwnContracts;
  clock: Clock;
}

/** Senders, factories and paymasters of operations that were not signed here. Nobody knows what they do in a block. */
export class ForeignEntities {
  constructor(private readonly options: ForeignEntitiesOptions) {}

  /** An operation of whoever is banned waits until that is over, and hears why. */
  async look(one: PooledOperation): Promise<void> {
    const { records, refused, clock } = this.options;
    const entities = await Promise.all(this.addressesOf(one).map((address) => records.entity(address)));
    const leftMs = Math.max(0, ...entities.map(bannedUntil)) - clock.now();
    if (leftMs > 0) await refused.refuse(one, BANNED, leftMs);
  }

  /** A bundle with this operation alone was reverted. The same bundle again bans nobody for longer. */
  async ban(one: Pick<PooledOperation, 'operation'>, transactionHash: string): Promise<void> {
    await Promise.all(this.addressesOf(one).map((address) => this.options.records.ban(address, transactionHash)));
  }

  private addressesOf({ operation: { sender, factory, paymaster } }: Pick<PooledOperation, 'operation'>): string[] {
    const { own } = this.options;
    return [
      sender,
      ...(factory && factory.address !== own.accountFactory ? [factory.address] : []),
      ...(paymaster && paymaster.address !== own.paymaster ? [paymaster.address] : []),
    ];
  }
}
