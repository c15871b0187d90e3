import { root } from '../ready.mjs';
import { filesOfCheckout } from './files-of-checkout.mjs';
import { namesWithRetiredWords, retiredWords } from './retired-words.mjs';

const found = namesWithRetiredWords(root, filesOfCheckout(root), retiredWords);
for (const { file, name, word, instead } of found) {
  console.log(`${file}: ${name} has the retired word "${word}"; write ${instead}.`);
}
if (found.length > 0) process.exitCode = 1;
