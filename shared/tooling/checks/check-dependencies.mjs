import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cruise, FOLDERS } from './cruise.mjs';
import { Failure, runCommand } from './failure.mjs';
import { root } from './ready.mjs';

/** Not every file is a module of the graph. If dependency-cruiser cannot read TypeScript, it reads almost none. */
const READ_MIN = 0.6;

await runCommand(async () => {
  const { modules, summary } = await cruise(root);
  const found = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
  if (found.length > 0) throw new Failure(found.join('\n'));
  const onDisk = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts')),
  ).length;
  const read = modules.filter(({ source }) => /^(deploy|schemas|services|shared)\/.*\.ts$/.test(source)).length;
  if (read > onDisk * READ_MIN) return;
  throw new Failure(`Only ${String(read)} of ${String(onDisk)} modules were read: the rules have checked little.`);
});
