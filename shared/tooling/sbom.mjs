import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { billOfMaterials, readLockfiles } from './checks/bill-of-materials.mjs';
import { Failure, runCommand } from './failure.mjs';
import { root } from './ready.mjs';

const file = join(root, 'deploy/sbom.cdx.json');

// Written from the lockfiles; with --check only compared.
await runCommand(async () => {
  const text = billOfMaterials(readLockfiles(root));
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    throw new Failure('deploy/sbom.cdx.json is not of these lockfiles: run "npm run sbom" and commit what it writes.');
  }
  const { components } = /** @type {{ components: object[] }} */ (JSON.parse(text));
  console.log(`${String(components.length)} packages`);
  return Promise.resolve();
});
