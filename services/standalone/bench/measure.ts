export interface Measured {
  what: string;
  perSecond: number;
  count: number;
  seconds: number;
}

export type Report = (measured: Measured) => void;

/** Runs `work` once and says how many of `count` things it did in a second. */
export const measure = async (what: string, count: number, work: () => Promise<void>): Promise<Measured> => {
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  return { what, perSecond: Math.round(count / seconds), count, seconds: Math.round(seconds * 100) / 100 };
};
