import { contractKey, topics } from '../../../../schemas/topics.ts';
import type { MessageBus, MessageToPublish } from '../../../../shared/message-bus/message-bus.ts';
import type { ContractCounts } from '../event-counts.sqlite.ts';

export interface ContractChange {
  /** Its address, as a number. */
  contract: number;
  isReverted: boolean;
  /** Which of its logs, as a number; another one each time, if nothing is said. */
  log?: number;
}

/** Publishes changes of some contracts as the relay does, and knows the counts that they must give. */
export class PublishedChanges {
  private readonly stored: (MessageToPublish & { isReverted: boolean })[] = [];
  private published = 0;

  constructor(private readonly messageBus: MessageBus) {}

  /** @param again how many of the earlier messages are published again, as by a relay that crashed before its checkpoint */
  async publish(changes: readonly ContractChange[], again = 0): Promise<void> {
    for (const { contract, isReverted, log = this.stored.length + 1_000 } of changes) {
      const type = isReverted ? 'annals.ChainEventReverted.v1' : 'annals.ChainEventObserved.v1';
      this.stored.push({
        key: contractKey(2484, `0x${contract.toString(16).padStart(40, '0')}`),
        headers: { ce_type: type, ce_position: String((this.stored.length + 1) * 3) },
        value: JSON.stringify({ Id: `2484:${String(contract)}:${String(log)}` }),
        timestamp: Date.now(),
        isReverted,
      });
    }
    await this.messageBus.publish(topics.chainEvents, this.stored.slice(Math.max(0, this.published - again)));
    this.published = this.stored.length;
  }

  /** In the order of the contracts. */
  get counts(): ContractCounts[] {
    const byContract = Map.groupBy(this.stored, ({ key }) => key);
    return Array.from(byContract, ([contract, changes]) => {
      const reverted = changes.filter(({ isReverted }) => isReverted).length;
      const observed = changes.length - reverted;
      const byLog = Map.groupBy(changes, ({ value }) => value);
      const isCanonical = (some: typeof changes) => some.filter((one) => !one.isReverted).length * 2 > some.length;
      const logs = [...byLog.values()].filter(isCanonical).length;
      return { contract, logs, observed, reverted, records: observed - reverted };
    }).sort(byName);
  }
}

export const byName = (one: ContractCounts, other: ContractCounts): number =>
  one.contract.localeCompare(other.contract);
