import type { Clock } from '../../../shared/primitives/clock.ts';
import { bannedUntil, type Entity } from '../domain/entity.ts';
import { accountImplementation } from '../domain/smart-account.ts';
import type { OperationsChain } from '../edge/operations-chain.ts';
import type { PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';

/** The contracts whose operations share bundles. */
export interface OwnContracts {
  accountFactory: string;
  paymaster: string;
}

interface ForeignEntitiesOptions {
  chain: Pick<OperationsChain, 'implementations'>;
  records: Pick<Records, 'entity' | 'ban'>;
  own: OwnContracts;
  clock: Clock;
}

/** Senders, factories and paymasters of which nobody knows what they do in a block: their operations share no bundle. */
export class ForeignEntities {
  constructor(private readonly options: ForeignEntitiesOptions) {}

  /**
   * Looks again whose operations these are: an owner can give an account other code at any time. Those of whoever is banned
   * wait.
   * @param operations those that one bundle may have, with the deploying ones that they need. @throws ChainUnavailable
   */
  async look(operations: readonly PooledOperation[]): Promise<void> {
    const own = await this.ownAccounts(operations);
    await Promise.all(operations.map((one) => this.lookAt(one, own.has(one.operation.sender))));
  }

  /** A bundle with this operation alone was reverted. The same bundle again bans nobody for longer. */
  async ban({ operation }: Pick<PooledOperation, 'operation'>, transactionHash: string): Promise<void> {
    const addresses = [operation.sender, ...this.foreignOf(operation)];
    await Promise.all(addresses.map((address) => this.options.records.ban(address, transactionHash)));
  }

  private async ownAccounts(operations: readonly PooledOperation[]): Promise<ReadonlySet<string>> {
    const { chain, own } = this.options;
    const ours = accountImplementation(own.accountFactory);
    const deploying = operations.filter(({ operation }) => operation.factory?.address === own.accountFactory);
    const senders = [...new Set(operations.map(({ operation }) => operation.sender))];
    const implementations = await chain.implementations(senders);
    return new Set([
      ...deploying.map(({ operation }) => operation.sender),
      ...senders.filter((_, at) => implementations[at] === ours),
    ]);
  }

  private async lookAt(one: PooledOperation, isOwnAccount: boolean): Promise<void> {
    const { records, clock } = this.options;
    const addresses = [one.operation.sender, ...this.foreignOf(one.operation)];
    const [sender, ...others] = await Promise.all(addresses.map((address) => records.entity(address)));
    const isBanned = sender !== undefined && bannedUntil(sender) > clock.now();
    one.isForeign = !isOwnAccount || others.length > 0 || isBanned;
    // What was signed here does nothing else than before, and its account is of ours although a node may not know it yet.
    const isKnown = isOwnAccount || one.transaction.submission.userId !== null;
    const mayBeBanned: readonly (Entity | undefined)[] = isKnown ? others : [sender, ...others];
    const untilMs = Math.max(0, ...mayBeBanned.map((entity) => (entity ? bannedUntil(entity) : 0)));
    const leftMs = untilMs - clock.now();
    if (leftMs > 0) one.waitsUntil = Math.max(one.waitsUntil, clock.elapsed() + leftMs);
  }

  private foreignOf({ factory, paymaster }: PooledOperation['operation']): string[] {
    const { own } = this.options;
    return [
      ...(factory && factory.address !== own.accountFactory ? [factory.address] : []),
      ...(paymaster && paymaster.address !== own.paymaster ? [paymaster.address] : []),
    ];
  }
}
