import { open } from 'node:fs/promises';

/**
 * Yields the lines of a file. Opens the file only when the first line is requested, so that a reader that waits before
 * loses none.
 */
export async function* linesOfFile(file: string): AsyncGenerator<string> {
  const handle = await open(file);
  try {
    yield* handle.readLines();
  } finally {
    await handle.close();
  }
}
