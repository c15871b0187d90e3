import { unavailable } from '../errors/refusal.ts';

/** Maximum time of a single call to an engine, also for a query without a time limit. */
const CALL_MS_MAX = 4_000;

const TOO_MANY_RECORDS = 'the query searches too many records: ask for fewer blocks, or filter by a rarer value';

interface QueryBudgetOptions {
  /** Callers share an engine fairly, however much each of them asks. */
  caller: string;
  /** Default: no limit. */
  withinMs?: number;
  /** Aborts when no client waits for the answer any more. */
  signal?: AbortSignal;
  /** Message for the caller when the time is over. */
  tooLong?: string;
}

/** The time that a query may take. */
export class QueryBudget {
  readonly caller: string;
  /** Aborts when the query has to end. */
  readonly signal: AbortSignal;
  /** How long engines have worked for this query. */
  usedMs = 0;
  /**
   * Whether its next call precedes those of all other queries. Finishing started queries means that, of very many, some
   * are answered.
   */
  goesFirst = false;
  private readonly endsAt: number;
  private readonly timeout: AbortSignal | undefined;
  private readonly detail: string;

  constructor({ caller, withinMs, signal, tooLong = TOO_MANY_RECORDS }: QueryBudgetOptions) {
    this.caller = caller;
    this.detail = tooLong;
    this.endsAt = performance.now() + (withinMs ?? Infinity);
    this.timeout = withinMs === undefined ? undefined : AbortSignal.timeout(withinMs);
    this.signal = AbortSignal.any([this.timeout, signal].filter((one) => one !== undefined));
  }

  /** The time left for the next call to an engine. */
  get leftMs(): number {
    return Math.min(CALL_MS_MAX, Math.max(1, Math.ceil(this.endsAt - performance.now())));
  }

  /** @throws Refusal dependency_unavailable when the time is over; the signal's reason when no client waits any more */
  check(): void {
    if (this.timeout?.aborted || performance.now() >= this.endsAt) throw this.tooLong();
    this.signal.throwIfAborted();
  }

  tooLong(cause?: unknown): Error {
    return unavailable(this.detail, cause);
  }
}
