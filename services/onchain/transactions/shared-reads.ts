/**
 * Shares reads of the same key: all callers that ask while a read is under way share the next read, which begins when that one
 * ends. So each caller gets a value that was read after it asked.
 */
export class SharedReads<Value> {
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly next = new Map<string, Promise<Value>>();

  read(key: string, read: () => Promise<Value>): Promise<Value> {
    const shared = this.next.get(key);
    if (shared) return shared;
    const begin = () => {
      this.next.delete(key);
      return this.begin(key, read);
    };
    const before = this.underWay.get(key);
    if (!before) return this.begin(key, read);
    const mine = before.then(begin, begin);
    this.next.set(key, mine);
    return mine;
  }

  private begin(key: string, read: () => Promise<Value>): Promise<Value> {
    const reading = read();
    const end = () => {
      if (!this.next.has(key)) this.underWay.delete(key);
    };
    this.underWay.set(key, reading);
    reading.then(end, end);
    return reading;
  }
}
