import { unavailable } from '../errors/refusal.ts';

/** No single call to an engine takes longer, also for a query whose time has no end. */
const CALL_MS_MAX = 4_000;

const TOO_MANY_RECORDS = 'the query looks through too many records: ask for fewer blocks, or for what fewer have';

interface QueryBudgetOptions {
  /** Callers share an engine fairly, however much each of them asks. */
  caller: string;
  /** Without it the query may take any time. */
  withinMs?: number;
  /** Aborts when nobody waits for the answer any more. */
  signal?: AbortSignal;
  /** What the caller is told when the time is over. */
  tooLong?: string;
}

/** The time that a query may take. */
export class QueryBudget {
  readonly caller: string;
  /** Aborts when the query has to end. */
  readonly signal: AbortSignal;
  /** How long engines have worked for it. */
  usedMs = 0;
  /** Whether its next call goes before those of all others: what is begun is finished, so that of very many queries some are answered. */
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

  /** The time for the next call to an engine. */
  get leftMs(): number {
    return Math.min(CALL_MS_MAX, Math.max(1, Math.ceil(this.endsAt - performance.now())));
  }

  /** @throws Refusal dependency_unavailable when the time is over; the signal's reason when nobody waits any more */
  check(): void {
    if (this.timeout?.aborted || performance.now() >= this.endsAt) throw this.tooLong();
    this.signal.throwIfAborted();
  }

  tooLong(cause?: unknown): Error {
    return unavailable(this.detail, cause);
  }
}
