import { isAborted } from '../primitives/is-aborted.ts';
import type { WakeUp } from '../primitives/wake-up.ts';
import type { BusBatch, BusMessage, Offsets } from './message-bus.ts';

interface Polling {
  from: Offsets;
  /** Returns at most one batch of messages; none when there are no newer ones. */
  read: (partition: number, offset: number) => BusMessage[];
  /** Notified when there may be more. */
  more: WakeUp;
  signal: AbortSignal;
}

/** Reads the partitions one after the other, again and again, until the signal aborts. */
export async function* pollPartitions({ from, read, more, signal }: Polling): AsyncGenerator<BusBatch> {
  const next = new Map(Array.from(from, ([partition, offset]) => [partition, Number(offset)]));
  while (!signal.aborted) {
    const seen = more.rung;
    let isIdle = true;
    for (const [partition, offset] of next) {
      const messages = read(partition, offset);
      const last = messages.at(-1);
      if (!last) continue;
      isIdle = false;
      next.set(partition, Number(last.offset) + 1);
      yield { partition, messages };
      if (isAborted(signal)) return;
    }
    if (isIdle) await more.wait(seen, signal);
  }
}
