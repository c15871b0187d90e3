/** An answer must start within 5 s; the way to the client takes part of that. */
export const ANSWER_WITHIN_MS = 4_500;

/** The time until a request's answer must start. Stops while the client sends the body. */
export class RequestDeadline {
  private timer: NodeJS.Timeout | undefined;
  private resumedAt = 0;

  /** @param onPassed called once, unless the answer starts before */
  constructor(
    private onPassed: () => void,
    private leftMs = ANSWER_WITHIN_MS,
  ) {
    this.resume();
  }

  /** Gives a request that is known to take longer more time than others. */
  extend(moreMs: number): void {
    this.pause();
    this.leftMs += moreMs;
    this.resume();
  }

  /** For a streamed answer: replaces what is done when its first chunk does not arrive in time. */
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

  /** To be called when the answer starts. */
  end(): void {
    clearTimeout(this.timer);
  }
}
