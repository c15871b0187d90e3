/** The state of a chain: named numbers, 0 by default. Can return to the state at any mark. */
export class SimulatedState {
  private readonly values = new Map<string, bigint>();
  private readonly written: { name: string; before: bigint }[] = [];

  get(name: string): bigint {
    return this.values.get(name) ?? 0n;
  }

  set(name: string, value: bigint): void {
    this.written.push({ name, before: this.get(name) });
    this.values.set(name, value);
  }

  add(name: string, value: bigint): void {
    this.set(name, this.get(name) + value);
  }

  mark(): number {
    return this.written.length;
  }

  goBack(mark: number): void {
    for (const { name, before } of this.written.splice(mark).reverse()) this.values.set(name, before);
  }

  /** Returns the value at a mark. */
  getAt(name: string, mark: number): bigint {
    for (let at = mark; at < this.written.length; at += 1) {
      const entry = this.written[at];
      if (entry?.name === name) return entry.before;
    }
    return this.get(name);
  }
}

/** The names of the numbers in the state. */
export const named = {
  wei: (address: string): string => `wei ${address}`,
  deposit: (address: string): string => `deposit ${address}`,
  /** 1: the account has code. */
  code: (account: string): string => `code ${account}`,
  sequence: (sender: string, key: bigint): string => `sequence ${sender} ${String(key)}`,
  /** The next nonce of an account that sends transactions. */
  count: (address: string): string => `count ${address}`,
  executions: (userOpHash: string): string => `executions ${userOpHash}`,
  calls: (sender: string, callData: string): string => `calls ${sender} ${callData}`,
};
