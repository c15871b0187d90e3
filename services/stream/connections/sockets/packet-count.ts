/**
 * Counts the packets of one socket in windows of a fixed length. Synchronous, so that it decides before a packet is
 * decoded.
 */
export class PacketCount {
  private count = 0;
  private windowEndsAtMs = 0;

  constructor(
    private readonly points: number,
    private readonly seconds: number,
  ) {}

  /** Counts a packet. @returns whether it exceeds the limit */
  exceeds(nowMs: number): boolean {
    if (nowMs >= this.windowEndsAtMs) {
      this.count = 0;
      this.windowEndsAtMs = nowMs + this.seconds * 1_000;
    }
    this.count += 1;
    return this.count > this.points;
  }
}
