import { join } from 'node:path';
import { runCommand } from './failure.mjs';
import { runNode } from './launch.mjs';
import { getReady, root } from './ready.mjs';

// Built too: the end-to-end specs start the real program.
await runCommand(async () => {
  await getReady();
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  await runNode([...node, jest, '--rootDir', root, ...process.argv.slice(2)]);
});
