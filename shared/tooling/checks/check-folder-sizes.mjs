import { Failure, runCommand } from '../failure.mjs';
import { root } from '../ready.mjs';
import { filesOfCheckout } from './files-of-checkout.mjs';
import { crowdedFolders, FILES_MAX } from './folder-sizes.mjs';

await runCommand(() => {
  const found = crowdedFolders(filesOfCheckout(root)).map(
    ({ folder, count }) =>
      `${folder} has ${String(count)} files at one level, more than ${String(FILES_MAX)}: part it by subject.`,
  );
  if (found.length > 0) throw new Failure(found.join('\n'));
  return Promise.resolve();
});
