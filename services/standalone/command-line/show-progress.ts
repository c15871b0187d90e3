const EVERY_MS = 500;

/** Shows on a terminal how much is done and how fast. Elsewhere nothing. @returns what to call with what is done so far */
export const showProgress = (what: string, output = process.stderr, now = () => performance.now()) => {
  const beganAt = now();
  let shownAt = beganAt;
  return (done: number): void => {
    if (!output.isTTY || now() - shownAt < EVERY_MS) return;
    shownAt = now();
    const rate = Math.round((done * 1_000) / (shownAt - beganAt));
    output.write(`\r${String(done)} ${what}, ${String(rate)}/s \r`);
  };
};
