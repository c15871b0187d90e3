/** A failure whose message says in one sentence what to do; it is printed without a stack. */
export class Failure extends Error {}

/**
 * Runs the work of a command. If it fails, it prints the error and sets exit code 1.
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
