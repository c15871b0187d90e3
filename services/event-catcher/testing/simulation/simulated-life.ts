/** How long a process lives. One that was killed does nothing from then on: whatever it waits for never comes. */
export class SimulatedLife {
  private isEnded = false;

  constructor(
    private readonly isKilledNow: () => boolean,
    private readonly ended: () => void,
  ) {}

  get isOver(): boolean {
    return this.isEnded;
  }

  /** May be killed here. @param last what has been sent by then */
  async goOn(last?: () => void): Promise<void> {
    if (!this.isEnded && this.isKilledNow()) {
      this.isEnded = true;
      last?.();
      this.ended();
    }
    if (this.isEnded) await new Promise<never>(() => undefined);
  }

  /** The same port. The process may be killed before and after each call. */
  of<Port extends object>(port: Port): Port {
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
