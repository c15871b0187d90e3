import type { OnModuleDestroy } from '@nestjs/common';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { transactionsModel, type TransactionDocument } from '../../../shared/read-models/onchain/transactions.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';

const POLL_MS = 25;

interface Waiter {
  before: TransactionDocument;
  deadline: number;
  resolve: (now: TransactionDocument) => void;
  reject: (error: unknown) => void;
}

const { transaction } = transactionsModel.collections;

/** Lets requests wait for a change of a transaction. */
export class TransactionChanges implements OnModuleDestroy {
  private readonly waiting = new Set<Waiter>();

  constructor(private readonly readStore: Pick<ReadStore, 'getMany'>) {}

  /** Returns a transaction once its status or its block has changed, or after the given time. */
  next(before: TransactionDocument, withinMs: number): Promise<TransactionDocument> {
    const { promise, resolve, reject } = Promise.withResolvers<TransactionDocument>();
    this.waiting.add({ before, deadline: performance.now() + withinMs, resolve, reject });
    if (this.waiting.size === 1) void this.poll();
    return promise;
  }

  onModuleDestroy(): void {
    for (const { before, resolve } of this.waiting) resolve(before);
    this.waiting.clear();
  }

  /** Asks once for all waiting requests, until none waits. */
  private async poll(): Promise<void> {
    while (this.waiting.size > 0) {
      await pause(POLL_MS);
      await this.answer();
    }
  }

  private async answer(): Promise<void> {
    const asked = [...this.waiting];
    try {
      const ids = new Set(asked.map(({ before }) => before.id));
      const found = await this.readStore.getMany(transaction.name, [...ids]);
      for (const waiter of asked) {
        const { before, deadline, resolve } = waiter;
        const stored = found.get(before.id);
        const now = stored ? transaction.document.parse(stored.document) : before;
        if (!hasChanged(before, now) && performance.now() < deadline) continue;
        resolve(now);
        this.waiting.delete(waiter);
      }
    } catch (error) {
      for (const waiter of asked) {
        waiter.reject(error);
        this.waiting.delete(waiter);
      }
    }
  }
}

const hasChanged = (before: TransactionDocument, now: TransactionDocument): boolean =>
  before.status !== now.status ||
  before.isOpen !== now.isOpen ||
  before.replacedBy !== now.replacedBy ||
  before.inclusion?.blockHash !== now.inclusion?.blockHash;
