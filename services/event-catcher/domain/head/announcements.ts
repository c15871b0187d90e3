/** After this many futile polls, announcements are ignored. */
const IN_VAIN_MAX = 4;
/** After this many blocks found without them, the next announcement is tried again. */
const TRIED_AGAIN_BLOCKS = 16;

/**
 * Tracks whether `newHeads` notifications are reliable. Their sender may follow another chain, or send them without
 * end: then each poll finds nothing and costs calls.
 */
export class Announcements {
  private left = IN_VAIN_MAX;
  private foundWithout = 0;
  private wasInVain = false;

  /** Whether an announcement triggers a poll. */
  get areHeeded(): boolean {
    return this.left > 0;
  }

  /**
   * Whether polling may wait for the next announcement. It may not after an announcement that came before its block
   * could be read.
   */
  get areWaitedFor(): boolean {
    return this.areHeeded && !this.wasInVain;
  }

  polled({ wasAnnounced, isFound }: { wasAnnounced: boolean; isFound: boolean }): void {
    this.wasInVain = wasAnnounced && !isFound;
    if (wasAnnounced) this.left = isFound ? Math.min(IN_VAIN_MAX, this.left + 1) : Math.max(0, this.left - 1);
    else if (isFound && !this.areHeeded) this.foundWithout += 1;
    if (this.foundWithout < TRIED_AGAIN_BLOCKS) return;
    this.left = 1;
    this.foundWithout = 0;
  }
}
