import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCommand } from './failure.mjs';
import { inspectInstallation, install, recordInstallation } from './installation/install.mjs';
import { runNode } from './launch.mjs';
import { getReady, root } from './ready.mjs';
import { typescriptProgram } from './typescript/typescript-program.mjs';

/**
 * Installs what the folder of a program needs beside the packages of the checkout, if it has a package.json of its own.
 * @param {string} folder
 */
const installPackages = async (folder) => {
  if (!existsSync(join(root, folder, 'package.json')) || inspectInstallation(join(root, folder)).whole) return;
  console.error(`Installing the packages of ${folder}, once.`);
  await install(join(root, folder));
  recordInstallation(join(root, folder));
};

// Runs a program that is not part of the build, from its source. The build is there too: specs start the built program.
const [program = '', ...args] = process.argv.slice(2);
await runCommand(async () => {
  await getReady({ development: true });
  await installPackages(dirname(program));
  const source = program.endsWith('.ts') ? typescriptProgram(program) : [join(root, program)];
  process.exitCode = await runNode([...source, ...args]);
});
