/**
 * Reads once for all who ask for the same while it is read: they share the next reading, which begins when that one ends. What
 * anybody is given was read after asking.
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
