import type { SimulatedTime } from './simulated-time.ts';

interface Simulated {
  time: SimulatedTime;
  /** @returns a number from 0 up to, and without, 1 */
  random: () => number;
  fetch: typeof fetch;
}

/** Runs something in a world of its own: its time, its randomness and its network are simulated. */
export const inSimulation = async <Result>(simulated: Simulated, run: () => Promise<Result>): Promise<Result> => {
  const { time, random, fetch } = simulated;
  const restored = [
    replace(globalThis, 'fetch', fetch),
    replace(globalThis, 'performance', { now: () => time.elapsed() } as Performance),
    replace(globalThis, 'setTimeout', ((act: () => void, ms = 0) =>
      time.after(ms, act)) as unknown as typeof setTimeout),
    replace(globalThis, 'clearTimeout', ((cancel?: () => void) => {
      cancel?.();
    }) as typeof clearTimeout),
    replace(Date, 'now', () => time.now()),
    replace(Math, 'random', random),
    replace(AbortSignal, 'timeout', (ms) => {
      const late = new AbortController();
      time.after(ms, () => {
        late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      });
      return late.signal;
    }),
  ];
  try {
    return await time.until(run());
  } finally {
    for (const restore of restored) restore();
  }
};

const replace = <Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  value: Owner[Name],
): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before) Object.defineProperty(owner, name, before);
    else Reflect.deleteProperty(owner, name);
  };
};
