import { watch, type FSWatcher } from 'node:fs';

/** How often a file is looked at while commits come: a follower in another process sees an event within 50 ms. */
const POLL_MS = 20;
/** After so many looks that find nothing, the system is asked to report the next write. */
const QUIET_LOOKS = 50;
/** How often a file is looked at meanwhile, for file systems that report nothing. */
const WATCHED_POLL_MS = 1_000;

/**
 * Notices commits of other connections to a SQLite file, without a poll every 20 ms where nothing happens. A report of a
 * write is only a reason to look: SQLite writes to its log before the commit is visible, and may wait for the disk in
 * between.
 */
export class ForeignCommits {
  private timer: NodeJS.Timeout | undefined;
  private watcher: FSWatcher | undefined;

  /**
   * @param log path of the write-ahead log
   * @param look looks for a commit, and returns whether there was one
   */
  constructor(
    private readonly log: string,
    private readonly look: () => boolean,
  ) {
    this.poll();
  }

  /** Whether nothing is polled for because no commit came lately. */
  get isWatching(): boolean {
    return this.watcher !== undefined;
  }

  close(): void {
    clearInterval(this.timer);
    this.watcher?.close();
    this.watcher = undefined;
  }

  private readonly poll = (): void => {
    this.close();
    let left = QUIET_LOOKS;
    this.timer = setInterval(() => {
      left = this.look() ? QUIET_LOOKS : left - 1;
      if (left <= 0 && !this.watch()) left = QUIET_LOOKS;
    }, POLL_MS).unref();
  };

  /** @returns whether the system reports writes from now on */
  private watch(): boolean {
    try {
      const watcher = watch(this.log, { persistent: false }, this.poll).on('error', this.poll);
      this.close();
      this.watcher = watcher;
    } catch {
      // The system has no watch left, which is no fault of this program: polling goes on.
      return false;
    }
    this.timer = setInterval(() => {
      if (this.look()) this.poll();
    }, WATCHED_POLL_MS).unref();
    // A commit may have come since the last look.
    if (this.look()) this.poll();
    return true;
  }
}
