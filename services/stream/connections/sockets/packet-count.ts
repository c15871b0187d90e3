/** Counts the packets of one socket within windows of a fixed length. It tells at once, before a packet is decoded. */
export class PacketCount {
  private count = 0;
  private windowEndsAtMs = 0;

  constructor(
    private readonly points: number,
    private readonly seconds: number,
  ) {}

  /** Counts a packet. @returns whether it is one too many */
  exceeds(nowMs: number): boolean {
    if (nowMs >= this.windowEndsAtMs) {
      this.count = 0;
      this.windowEndsAtMs = nowMs + this.seconds * 1_000;
    }
    this.count += 1;
    return this.count > this.points;
  }
}
