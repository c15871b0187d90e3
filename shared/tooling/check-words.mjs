import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './ready.mjs';
import { namesWithRetiredWords, retiredWords } from './retired-words.mjs';

const words = retiredWords(readFileSync(join(root, 'README.md'), 'utf8'));
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n');
const found = namesWithRetiredWords(
  root,
  files.filter((file) => file !== '' && existsSync(join(root, file))),
  words,
);
for (const { file, name, word } of found) {
  console.log(`${file}: ${name} has the retired word "${word}"; the README's glossary says what to write instead.`);
}
// If the glossary or the files were not found, this check would pass without checking anything.
if (words.length < 20 || files.length < 100) throw new Error('the glossary or the files were not found');
if (found.length > 0) process.exitCode = 1;
