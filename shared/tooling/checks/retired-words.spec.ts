import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { namesWithRetiredWords, retiredWords } from './retired-words.mjs';

const words = [
  { word: 'hand over', instead: 'queue' },
  { word: 'settle', instead: 'confirm' },
  { word: 'settled', instead: 'confirm' },
];

describe('the retired words', () => {
  const folder = temporaryFolder();
  const write = (file: string, text: string) => {
    mkdirSync(join(folder, file, '..'), { recursive: true });
    writeFileSync(join(folder, file), text);
    return file;
  };

  it('are those of the list, each form of its own', () => {
    expect(retiredWords).toContainEqual({ word: 'hand over', instead: 'synchronous queue; nothing in flight' });
    expect(retiredWords).toContainEqual({ word: 'handed over', instead: 'synchronous queue; nothing in flight' });
  });

  it('are found as parts of identifiers and of file names', () => {
    const files = [
      write('shared/hand-over.ts', 'export class HandOver { #settled = 1; }'),
      write('shared/plain.ts', 'const SETTLE_MS = 1; const shop = { settle: 1 };'),
      write('settled.md', ''),
    ];
    expect(namesWithRetiredWords(folder, files, words)).toEqual([
      { file: 'shared/hand-over.ts', name: 'hand-over.ts', word: 'hand over', instead: 'queue' },
      { file: 'shared/hand-over.ts', name: 'HandOver', word: 'hand over', instead: 'queue' },
      { file: 'shared/hand-over.ts', name: '#settled', word: 'settled', instead: 'confirm' },
      { file: 'shared/plain.ts', name: 'SETTLE_MS', word: 'settle', instead: 'confirm' },
      { file: 'shared/plain.ts', name: 'settle', word: 'settle', instead: 'confirm' },
      { file: 'settled.md', name: 'settled.md', word: 'settled', instead: 'confirm' },
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
