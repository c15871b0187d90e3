import type { JsonObject } from '../../schemas/json.ts';

/** Names the one process that may do a piece of work. */
export interface Lease {
  /** The process that holds the lease; `null` after its release. */
  holder: string | null;
  /** Grows whenever the holder changes. */
  epoch: number;
  /** Grows while the holder is alive and processes other than the holder read leases. */
  renewals: number;
}

/** Points that a caller uses up of a rate limit. */
export interface PointsToAdd {
  id: string;
  points: number;
  /** Length of the window, if these points start one. */
  windowMs: number;
}

/** The points that a caller has used up in the current window. */
export interface Counted {
  points: number;
  /** End of the window in Unix milliseconds. */
  endsAt: number;
}

/** What a process announces about itself while it lives. */
export interface Announcement {
  /** A process announces at most one thing of a kind. */
  id: string;
  /** Grows with each renewal: another process that sees it grow knows that this one lives, whatever the clocks say. */
  renewals: number;
  document: JsonObject;
}

/** What processes share besides documents: leases, rate-limit counters and announcements. The read store keeps them. */
export interface Coordination {
  lease(name: string): Promise<Lease | undefined>;
  /**
   * Replaces `expected` (`undefined`: no lease) with `next` atomically.
   * @returns whether `expected` was the stored lease
   */
  replaceLease(name: string, expected: Lease | undefined, next: Lease): Promise<boolean>;
  /**
   * Renews a lease, for those who watch its holder. Renewals by a holder that lost the lease change nothing.
   * @returns the stored lease; `undefined` if it has another holder or epoch
   */
  renewLease(name: string, lease: Pick<Lease, 'holder' | 'epoch'>): Promise<Lease | undefined>;
  /**
   * Adds points to counters whose window lasts, and starts a new window for the others. Ids must differ. Concurrent
   * additions of other processes are not lost, except in the moment in which a window starts.
   * @returns every counter by id, after the addition
   */
  addPoints(points: readonly PointsToAdd[], nowMs: number): Promise<Map<string, Counted>>;
  /** Deletes the counters whose window has ended. */
  forgetPoints(nowMs: number): Promise<void>;
  /**
   * Replaces the announcement of this kind and id. An announcement that differs by its renewals alone is stored only if
   * other processes read announcements.
   */
  announce(kind: string, announcement: Announcement): Promise<void>;
  /** Returns the announcements of this kind that were not withdrawn, by id. */
  announcements(kind: string): Promise<Announcement[]>;
  /** Removes an announcement, unless it was renewed since. */
  withdraw(kind: string, announcement: Pick<Announcement, 'id' | 'renewals'>): Promise<void>;
}
