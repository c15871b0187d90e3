/** A failure whose message is one sentence that says what to do; its stack helps nobody. */
export class Failure extends Error {}

/**
 * Runs what a command does; whatever goes wrong becomes exit code 1.
 * @param {() => Promise<void>} work
 */
export const runCommand = async (work) => {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error);
    process.exitCode = 1;
  }
};
