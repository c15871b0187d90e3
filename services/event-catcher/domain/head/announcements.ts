/** So many looks in vain are made before announcements are heeded no more. */
const IN_VAIN_MAX = 4;
/** After so many blocks that were found without them, one announcement is heeded again. */
const TRIED_AGAIN_BLOCKS = 16;

interface Look {
  wasAnnounced: boolean;
  isFound: boolean;
}

/**
 * Whether blocks are where they are announced. Whoever announces them may be of another chain, or never rest: then looks are in vain,
 * and cost calls.
 */
export class Announcements {
  private left = IN_VAIN_MAX;
  private foundWithout = 0;
  private wasInVain = false;

  /** Whether an announcement is a reason to look. */
  get areHeeded(): boolean {
    return this.left > 0;
  }

  /** Whether looks without one may wait for the next. A block that was announced too early comes before that. */
  get areWaitedFor(): boolean {
    return this.areHeeded && !this.wasInVain;
  }

  looked({ wasAnnounced, isFound }: Look): void {
    this.wasInVain = wasAnnounced && !isFound;
    if (wasAnnounced) this.left = isFound ? Math.min(IN_VAIN_MAX, this.left + 1) : Math.max(0, this.left - 1);
    else if (isFound && !this.areHeeded) this.foundWithout += 1;
    if (this.foundWithout < TRIED_AGAIN_BLOCKS) return;
    this.left = 1;
    this.foundWithout = 0;
  }
}
