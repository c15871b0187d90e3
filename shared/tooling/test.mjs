import { join } from 'node:path';
import { runCommand } from './failure.mjs';
import { runNode } from './launch.mjs';
import { getReady, root } from './ready.mjs';

// The build is needed because the end-to-end specs start the built program.
await runCommand(async () => {
  await getReady({ development: true });
  process.exitCode = await runNode([join(root, 'shared/tooling/run-specs.mjs'), ...process.argv.slice(2)]);
});
