import type { Topic } from '../../../schemas/topics.ts';
import type { BusBatch, Offsets } from '../../../shared/message-bus/message-bus.ts';
import { MemoryMessageBus } from '../../../shared/testing/engines/message-bus.memory.ts';

/** A bus that has deleted all messages before an offset, in every partition. */
export class TruncatedBus extends MemoryMessageBus {
  keptFrom = 0;

  override async offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const [found, ends] = await Promise.all([super.offsets(topic, at), super.offsets(topic, 'latest')]);
    const kept = (offset: string, end = '0') => Math.min(Number(end), Math.max(Number(offset), this.keptFrom));
    return new Map(Array.from(found, ([partition, offset]) => [partition, String(kept(offset, ends.get(partition)))]));
  }

  override async *consume(...asked: Parameters<MemoryMessageBus['consume']>): AsyncGenerator<BusBatch> {
    for await (const { partition, messages } of super.consume(...asked)) {
      const kept = messages.filter(({ offset }) => Number(offset) >= this.keptFrom);
      if (kept.length > 0) yield { partition, messages: kept };
    }
  }
}
