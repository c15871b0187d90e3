import type { Clock } from '../../../shared/primitives/clock.ts';
import { delay } from '../domain/transaction.ts';
import { nonceParts } from '../domain/user-operation.ts';
import type { OperationsChain } from '../edge/operations-chain.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import type { Replacements } from './replacements.ts';

const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 30_000;

export interface RefusedOperationsOptions {
  chain: Pick<OperationsChain, 'sequences'>;
  pool: OperationPool;
  records: Records;
  replacements: Replacements;
  /** Reads again what blocks say of an operation whose nonce is used. */
  lookAgain: (one: PooledOperation) => Promise<void>;
  clock: Clock;
}

/** What is done with an operation that the EntryPoint refuses as things are. */
export class RefusedOperations {
  constructor(private readonly options: RefusedOperationsOptions) {}

  /** It waits, longer each time, unless it can be signed anew. */
  async refuse(one: PooledOperation, reason: string, leastMs = 0): Promise<void> {
    const { records, clock, pool, replacements, chain } = this.options;
    const retryMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** one.refusals);
    one.waitsUntil = clock.elapsed() + Math.max(retryMs, leastMs);
    one.refusals += 1;
    const { sender, nonce, factory } = one.operation;
    if (reason.startsWith('AA25')) {
      const { key, sequence } = nonceParts(nonce);
      const [next = 0n] = await chain.sequences([{ sender, key }]);
      if (next > sequence) return this.options.lookAgain(one);
    }
    const isDeployed = reason.startsWith('AA10') && factory !== undefined;
    const isMissing = reason.startsWith('AA20') && factory === undefined;
    if (isDeployed || isMissing) {
      const outcome = await replacements.signAnew(one, { deploys: isMissing });
      if (outcome === 'done') return;
    }
    pool.put(one.id, await records.transaction(one.id, (transaction) => delay(transaction, reason)));
  }
}
