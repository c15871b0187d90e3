import { open } from 'node:fs/promises';

/** Yields the lines of a file. It is opened when the first is asked for: a reader that waits before loses none. */
export async function* linesOfFile(file: string): AsyncGenerator<string> {
  const handle = await open(file);
  try {
    yield* handle.readLines();
  } finally {
    await handle.close();
  }
}
