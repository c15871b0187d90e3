import { cruise, FOLDERS } from './cruise.mjs';
import { Failure, runCommand } from '../failure.mjs';
import { filesOfCheckout } from './files-of-checkout.mjs';
import { root } from '../ready.mjs';

/** Not every file is a module of the graph. If dependency-cruiser cannot read TypeScript, it reads almost none. */
const READ_MIN = 0.6;

await runCommand(async () => {
  const { modules, summary } = await cruise(root);
  const found = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
  if (found.length > 0) throw new Failure(found.join('\n'));
  /** @param {string} file */
  const isModule = (file) => file.endsWith('.ts') && FOLDERS.some((folder) => file.startsWith(`${folder}/`));
  const onDisk = filesOfCheckout(root).filter(isModule).length;
  const read = modules.filter(({ source }) => isModule(source)).length;
  if (read > onDisk * READ_MIN) return;
  throw new Failure(`Only ${String(read)} of ${String(onDisk)} modules were read: the rules have checked little.`);
});
