import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { recordInstallation } from './install.mjs';
import { root } from './ready.mjs';

// `npx annals` comes by here too, and then npm has installed nothing that could be recorded.
if (process.env['npm_command'] !== 'exec') {
  const link = join(root, 'node_modules/.bin/annals');
  rmSync(link, { force: true });
  // npm links the programs of packages, not this one's own; without the link npx asks its cache, which may be old.
  symlinkSync('../../shared/tooling/annals.mjs', link);
  recordInstallation(root);
}
