import { runCommand } from '../failure.mjs';
import { runNode } from '../launch.mjs';
import { getReady } from '../ready.mjs';
import { jestCommand, NO_WARNINGS } from './jest-command.mjs';

/** Whether this process is jest as `npx jest` starts it; others, such as knip, only read jest's configuration. */
const isPlainJest = () => /[\\/]jest(\.js)?$/.test(process.argv[1] ?? '') && !process.execArgv.includes(NO_WARNINGS);

/**
 * Where somebody typed `npx jest`: runs jest once more, in a Node that is new enough, after installing and building what is
 * missing, and ends this process with its exit code.
 */
export const rerunPlainJest = async () => {
  if (!isPlainJest()) return;
  await runCommand(async () => {
    await getReady({ development: true });
    process.exitCode = await runNode([...jestCommand, ...process.argv.slice(2)]);
  });
  process.exit();
};
