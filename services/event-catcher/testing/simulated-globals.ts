import type { SimulatedTime } from './simulated-time.ts';

interface Simulated {
  time: SimulatedTime;
  /** @returns a number from 0 up to, and without, 1 */
  random: () => number;
  fetch: typeof fetch;
}

/** The world that something runs in now. Jest keeps each value that a global ever had: none of them holds a world. */
let current: Simulated | undefined;
const world = (): Simulated => {
  if (!current) throw new Error('nothing runs in a simulation');
  return current;
};

type Replacement = readonly [owner: object, name: string, value: unknown];
const replacements: readonly Replacement[] = [
  [globalThis, 'fetch', ((...request) => world().fetch(...request)) satisfies typeof globalThis.fetch],
  [globalThis, 'performance', { now: () => world().time.elapsed() }],
  [globalThis, 'setTimeout', (act: () => void, ms = 0) => world().time.after(ms, act)],
  [globalThis, 'clearTimeout', (cancel?: () => void) => cancel?.()],
  [Date, 'now', () => world().time.now()],
  [Math, 'random', () => world().random()],
  [
    AbortSignal,
    'timeout',
    (ms: number) => {
      const late = new AbortController();
      world().time.after(ms, () => {
        late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      });
      return late.signal;
    },
  ],
];

/** Runs something in a world of its own: its time, its randomness and its network are simulated. */
export const inSimulation = async <Result>(simulated: Simulated, run: () => Promise<Result>): Promise<Result> => {
  current = simulated;
  const restored = replacements.map(replace);
  try {
    return await simulated.time.until(run());
  } finally {
    for (const restore of restored) restore();
    current = undefined;
  }
};

const replace = ([owner, name, value]: Replacement): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before) Object.defineProperty(owner, name, before);
    else Reflect.deleteProperty(owner, name);
  };
};
