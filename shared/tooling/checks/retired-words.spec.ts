import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { namesWithRetiredWords, retiredWords } from './retired-words.mjs';

const glossary = `# Words

| footing | not this table |

## Words that are not used

|                   |                 |
| ----------------- | --------------- |
| hand over         | queue           |
| settle, settled   | confirm         |

## Next

| lane | nor this one |
`;

describe('the retired words', () => {
  const folder = temporaryFolder();
  const write = (file: string, text: string) => {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), text);
    return file;
  };
  const words = retiredWords(glossary);

  it('are those of the second table of the glossary, with all forms that it lists', () => {
    expect(words).toEqual(['hand over', 'settle', 'settled']);
  });

  it('are found as parts of identifiers and of file names', () => {
    const files = [
      write('shared/hand-over.ts', 'export class HandOver { #settled = 1; }'),
      write('shared/plain.ts', 'const SETTLE_MS = 1; const shop = { settle: 1 };'),
      write('settled.md', ''),
    ];
    expect(namesWithRetiredWords(folder, files, words)).toEqual([
      { file: 'shared/hand-over.ts', name: 'hand-over.ts', word: 'hand over' },
      { file: 'shared/hand-over.ts', name: 'HandOver', word: 'hand over' },
      { file: 'shared/hand-over.ts', name: '#settled', word: 'settled' },
      { file: 'shared/plain.ts', name: 'SETTLE_MS', word: 'settle' },
      { file: 'shared/plain.ts', name: 'settle', word: 'settle' },
      { file: 'settled.md', name: 'settled.md', word: 'settled' },
    ]);
  });

  it('are allowed in text, in longer words, in names of libraries and in decision records', () => {
    const files = [
      write('shared/text.ts', `// settle\nconst settlement = 'settle'; void Promise.allSettled([]);`),
      write('shared/decisions/0001-settle.md', ''),
    ];
    expect(namesWithRetiredWords(folder, files, words)).toEqual([]);
  });
});
