import { join } from 'node:path';
import { runCommand } from './failure.mjs';
import { runNode } from './launch.mjs';
import { getReady, root } from './ready.mjs';

await runCommand(async () => {
  await getReady({ development: true });
  await runNode([join(root, 'shared/tooling/plant-mutants.mjs'), ...process.argv.slice(2)]);
});
