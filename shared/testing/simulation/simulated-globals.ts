import { AsyncLocalStorage } from 'node:async_hooks';
import { SimulatedTime } from './simulated-time.ts';

interface Simulated {
  time: SimulatedTime;
  /** @returns a number from 0 up to, and without, 1 */
  random: () => number;
  fetch: typeof fetch;
}

/** The simulation whose code runs now. Other specs have left work in the same process, whose time is the real one. */
const worlds = new AsyncLocalStorage<Simulated>();

interface Replaced {
  fetch: typeof fetch;
  performance: Pick<Performance, 'now'>;
  setTimeout: (act: () => void, ms?: number) => unknown;
  clearTimeout: (timer: unknown) => void;
  Date: Pick<DateConstructor, 'now'>;
  Math: Pick<Math, 'random'>;
  AbortSignal: Pick<typeof AbortSignal, 'timeout'>;
}

/** Calls the simulated function within a simulation, and the real one elsewhere. */
const replace = <Owner extends object>(
  owner: Owner,
  name: keyof Owner,
  simulated: (world: Simulated, ...args: never[]) => unknown,
): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  const real = owner[name] as (...args: unknown[]) => unknown;
  const value = (...args: unknown[]) => {
    const world = worlds.getStore();
    return world ? simulated(world, ...(args as never[])) : real.apply(owner, args);
  };
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before) Object.defineProperty(owner, name, before);
    else Reflect.deleteProperty(owner, name);
  };
};

const timeoutSignal = ({ time }: Simulated, ms: number): AbortSignal => {
  const late = new AbortController();
  time.after(ms, () => {
    late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  });
  return late.signal;
};

/** The part of Node's timers that our code uses. */
interface SimulatedTimer {
  cancel: () => void;
  unref: () => SimulatedTimer;
}

const setSimulatedTimeout = (
  { time }: Simulated,
  act: (...args: unknown[]) => void,
  ms = 0,
  ...args: unknown[]
): SimulatedTimer => {
  const cancel = time.after(ms, () => {
    act(...args);
  });
  const timer = { cancel, unref: () => timer };
  return timer;
};

const replaceAll = (): (() => void)[] => {
  const globals = globalThis as unknown as Replaced;
  return [
    replace(globals, 'fetch', ({ fetch }, ...request: Parameters<typeof globalThis.fetch>) => fetch(...request)),
    replace(globals, 'setTimeout', setSimulatedTimeout),
    replace(globals, 'clearTimeout', (_, timer?: SimulatedTimer) => timer?.cancel()),
    replace(globals.performance, 'now', ({ time }) => time.elapsed()),
    replace(globals.Date, 'now', ({ time }) => time.now()),
    replace(globals.Math, 'random', ({ random }) => random()),
    replace(globals.AbortSignal, 'timeout', timeoutSignal),
  ];
};

/** Runs a function in a world of its own, with simulated time, randomness and network. */
export const inSimulation = async <Result>(simulated: Simulated, run: () => Promise<Result>): Promise<Result> => {
  const restored = replaceAll();
  try {
    return await worlds.run(simulated, () => simulated.time.until(run()));
  } finally {
    for (const restore of restored.toReversed()) restore();
  }
};

/** Runs a function in simulated time, which passes only when nothing is left to do. There is no network, and nothing is random. */
export const inSimulatedTime = <Result>(run: (time: SimulatedTime) => Promise<Result>): Promise<Result> => {
  const time = new SimulatedTime(0);
  const fetch = () => Promise.reject(new Error('there is no network'));
  return inSimulation({ time, random: () => 0.5, fetch }, () => run(time));
};
