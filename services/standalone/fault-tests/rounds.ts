const ROUNDS = '20';
const TOLD_EVERY = 10;

/** @param given `FAULT_ROUNDS` @throws for what is no number of rounds: a test of none would pass */
export const readRounds = (given: string | undefined): number => {
  const text = given ?? ROUNDS;
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`FAULT_ROUNDS: "${text}" is not a whole number from 1 on`);
  return Number(text);
};

/** What is told after this many rounds; `undefined`: nothing. */
export const progressAfter = (done: number, rounds: number, tookMs: number): string | undefined => {
  if (done % TOLD_EVERY !== 0 && done !== rounds) return undefined;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(0)} s`;
  const left = (tookMs / done) * (rounds - done);
  return `${String(done)} of ${String(rounds)} rounds in ${seconds(tookMs)}, about ${seconds(left)} to go`;
};
