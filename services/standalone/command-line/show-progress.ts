const EVERY_MS = 500;

/**
 * Shows progress and speed on a terminal, and nothing elsewhere.
 * @param total if it is known and not reached yet, the time that is left is shown too
 * @returns a function to call with the amount done so far
 */
export const showProgress = (what: string, total = 0, output = process.stderr, now = () => performance.now()) => {
  const beganAt = now();
  let shownAt = beganAt;
  return (done: number): void => {
    if (!output.isTTY || now() - shownAt < EVERY_MS) return;
    shownAt = now();
    const rate = Math.round((done * 1_000) / (shownAt - beganAt));
    const left = total <= done || rate === 0 ? '' : `, ${String(Math.ceil((total - done) / rate))} s left`;
    output.write(`\r${String(done)} ${what}, ${String(rate)}/s${left} \r`);
  };
};
