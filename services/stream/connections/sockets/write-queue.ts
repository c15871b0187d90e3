/** How long writing may block other work at a time. */
const WRITING_MS = 4;
/** Asking for the time costs as much as some writes. */
const WRITES_PER_LOOK = 16;

/** What writes when it comes up. */
interface Writer {
  flush: () => void;
}

/**
 * The sockets that have something to write, in the order in which they got it. They write in the same tick as long as there
 * is time, and otherwise wait for a later one, while more is sent to them: so the more there is to do, the more is written at
 * once, and a crowd of sockets does not keep the process from new connections.
 */
export class WriteQueue {
  private readonly waiting = new Set<Writer>();
  private isScheduled = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  add(writer: Writer): void {
    this.waiting.add(writer);
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(this.run);
  }

  remove(writer: Writer): void {
    this.waiting.delete(writer);
  }

  private readonly run = (): void => {
    const end = this.now() + WRITING_MS;
    let writes = 0;
    for (const writer of this.waiting) {
      this.waiting.delete(writer);
      writer.flush();
      writes += 1;
      if (writes % WRITES_PER_LOOK === 0 && this.now() >= end) break;
    }
    this.isScheduled = this.waiting.size > 0;
    if (this.isScheduled) setImmediate(this.run);
  };
}
