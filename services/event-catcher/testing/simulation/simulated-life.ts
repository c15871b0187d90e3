/** The life of a process. A killed process does nothing any more: nothing it waits for ever comes. */
export class SimulatedLife {
  private isEnded = false;

  constructor(
    private readonly isKilledNow: () => boolean,
    private readonly ended: () => void,
  ) {}

  get isOver(): boolean {
    return this.isEnded;
  }

  /** The process may be killed here. @param last what it has sent by then */
  async goOn(last?: () => void): Promise<void> {
    if (!this.isEnded && this.isKilledNow()) {
      this.isEnded = true;
      last?.();
      this.ended();
    }
    if (this.isEnded) await new Promise<never>(() => undefined);
  }

  /** The same port. The process may be killed before and after each call. */
  mortal<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]): Promise<unknown> => {
          await this.goOn();
          const answer: unknown = await Reflect.apply(value, target, given);
          await this.goOn();
          return answer;
        };
      },
    });
  }
}
