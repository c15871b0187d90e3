/** Calls with effects: the process may end before it sees the answer, and the effect stays. */
const EFFECTS: ReadonlySet<string | symbol> = new Set(['append', 'apply', 'publish', 'add', 'send']);

/**
 * Numbers all awaits of one process from 1: each call of a port, and the answer of each call that changes something.
 */
export class NumberedAwaits {
  /** The awaits so far, in order. */
  readonly names: string[] = [];

  /** @param arrive is awaited; an error that it throws is thrown to the caller of the port */
  constructor(private readonly arrive: (number: number) => Promise<void>) {}

  /** Returns a port with the same effects. */
  of<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member);
        if (typeof value !== 'function') return value;
        const call = `${name}.${String(member)}`;
        return async (...parameters: unknown[]): Promise<unknown> => {
          await this.wait(call);
          const answer: unknown = await Reflect.apply(value, target, parameters);
          if (EFFECTS.has(member)) await this.wait(`the answer of ${call}`);
          return answer;
        };
      },
    });
  }

  private wait(name: string): Promise<void> {
    this.names.push(name);
    return this.arrive(this.names.length);
  }
}
