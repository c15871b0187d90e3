/** An answer begins within 5 s, of which the way to the client takes some. */
const ANSWER_WITHIN_MS = 4_500;

/** The time that a request has for its answer to begin. It does not pass while the client sends the body. */
export class RequestDeadline {
  private timer: NodeJS.Timeout | undefined;
  private resumedAt = 0;
  private leftMs = ANSWER_WITHIN_MS;

  /** @param onPassed called once, unless the answer begins before */
  constructor(private onPassed: () => void) {
    this.resume();
  }

  /** Gives a request that is known to take longer more time than the others have. */
  extend(moreMs: number): void {
    this.pause();
    this.leftMs += moreMs;
    this.resume();
  }

  /** Of an answer whose text comes as it is found: what is done instead when its first chunk does not come in time. */
  instead(onPassed: () => void): void {
    this.onPassed = onPassed;
  }

  pause(): void {
    clearTimeout(this.timer);
    this.leftMs -= performance.now() - this.resumedAt;
  }

  resume(): void {
    this.resumedAt = performance.now();
    this.timer = setTimeout(() => {
      this.onPassed();
    }, this.leftMs);
  }

  /** The answer begins. */
  end(): void {
    clearTimeout(this.timer);
  }
}
