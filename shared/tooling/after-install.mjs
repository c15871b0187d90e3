import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { recordInstallation } from './install.mjs';
import { root } from './ready.mjs';

// `npx annals` runs this script too, but then npm has installed nothing.
if (process.env['npm_command'] !== 'exec') {
  const link = join(root, 'node_modules/.bin/annals');
  rmSync(link, { force: true });
  // npm links programs of dependencies, but not our own; without the link, npx uses its cache, which may be outdated.
  symlinkSync('../../shared/tooling/annals.mjs', link);
  recordInstallation(root);
}
