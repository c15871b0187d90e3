import type { StreamingRead } from '@eventstore/db-client';
import { DeadlineExceeded } from '../../primitives/waiting/within-deadline.ts';

/**
 * Reads to the end, or until `take` returns `false`. The client has no deadline for reads, and keeps a call open until
 * it is cancelled.
 * @param idleMs a read may take long, and is given up after this time without an event
 */
export const readThrough = async <Item>(
  read: StreamingRead<Item>,
  idleMs: number,
  take: (item: Item) => boolean,
): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const idle = setTimeout(() => {
    reject(new DeadlineExceeded(`a read had no answer within ${String(idleMs)} ms`));
  }, idleMs);
  let wantsMore = true;
  // Stays attached after the read: an error without a listener would end the process.
  read.on('error', reject);
  read.on('end', () => {
    resolve(undefined);
  });
  read.on('data', (item) => {
    idle.refresh();
    if (!wantsMore) return;
    wantsMore = take(item);
    if (!wantsMore) resolve(undefined);
  });
  try {
    await promise;
  } finally {
    clearTimeout(idle);
    // Rejects only with the error of the read, which was reported already.
    if (!read.readableEnded) read.cancel().catch(() => undefined);
  }
};
