import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { linesOfFile } from './lines-of-file.ts';

const folder = temporaryFolder();
const LINES = 5_000;

describe('the lines of a file', () => {
  it('are all there for a reader that waits before the first, and between them', async () => {
    const file = join(folder, 'lines');
    writeFileSync(file, Array.from({ length: LINES }, (_, at) => `line ${String(at)}\n`).join(''));
    const lines = linesOfFile(file);
    for (let waits = 0; waits < 200; waits += 1) await setImmediate();
    let seen = 0;
    for await (const line of lines) {
      expect(line).toBe(`line ${String(seen)}`);
      seen += 1;
      if (seen % 100 === 0) await setImmediate();
    }
    expect(seen).toBe(LINES);
  });

  it('of a file that is not there are refused by its name', async () => {
    await expect(linesOfFile(join(folder, 'none')).next()).rejects.toThrow('none');
  });
});
