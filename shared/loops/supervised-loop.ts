import type { Logger } from 'pino';
import { Backoff } from '../primitives/waiting/backoff.ts';
import { isAborted } from '../primitives/waiting/is-aborted.ts';
import { LogThrottle } from '../primitives/log-throttle.ts';

const RESTART_FIRST_MS = 100;
const RESTART_MAX_MS = 5_000;

/**
 * `starting`: no progress yet. `standby`: another process does the work, and this one would take over. `running`: makes
 * progress.
 */
export type LoopState = 'starting' | 'running' | 'standby' | 'failing' | 'stopped';
/** Reports the state of a loop. */
export type ReportState = (state?: 'starting' | 'standby' | 'running') => void;

/**
 * Runs a loop that should never end, and restarts it when it fails or ends: after 100 ms, then after twice as long each
 * time up to 5 s, with jitter, until it is stopped. The loop resumes from its own checkpoint.
 */
export class SupervisedLoop {
  private readonly stopping = new AbortController();
  private finished: Promise<void> = Promise.resolve();
  private current: LoopState = 'starting';
  private failure: unknown;
  private readonly reported = new LogThrottle();

  constructor(
    readonly name: string,
    private readonly logger: Logger,
    /** Must report `running` (the default) when it makes progress. Only that resets the error and the backoff. */
    private readonly run: (signal: AbortSignal, report: ReportState) => Promise<void>,
  ) {}

  get state(): LoopState {
    return this.current;
  }

  /** The last failure; `undefined` once the loop has made progress since. */
  get lastFailure(): unknown {
    return this.failure;
  }

  /** The text of the last failure, for the log: it may name hosts. */
  get lastError(): string | null {
    return this.failure === undefined ? null : textOf(this.failure);
  }

  start(): void {
    this.finished = this.keepRunning(this.stopping.signal);
  }

  /** Returns when the loop has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.finished;
  }

  private async keepRunning(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RESTART_FIRST_MS, RESTART_MAX_MS);
    const report: ReportState = (state = 'running') => {
      this.current = state;
      if (state !== 'running') return;
      backoff.reset();
      this.failure = undefined;
    };
    while (!signal.aborted) {
      try {
        await this.run(signal, report);
        if (!isAborted(signal)) throw new Error(`${this.name} ended by itself`);
      } catch (error) {
        if (isAborted(signal)) break;
        this.current = 'failing';
        this.failure = error ?? new Error('it failed without a reason');
        this.logger[this.reported.isDue(textOf(this.failure)) ? 'error' : 'debug'](
          { err: error, loop: this.name },
          `${this.name} failed and starts again`,
        );
        await backoff.pause(signal);
      }
    }
    this.current = 'stopped';
  }
}

const textOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure));
