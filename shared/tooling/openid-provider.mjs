import { join } from 'node:path';
import { runCommand } from './failure.mjs';
import { runNode } from './launch.mjs';
import { getReady, root } from './ready.mjs';

const PROGRAM = 'dist/services/account/testing/openid-provider/main.js';
/** Of the app of a development start. */
const REDIRECT_URI = 'http://localhost:5173/callback';
const [port = '3009'] = process.argv.slice(2);

await runCommand(async () => {
  await getReady({ development: true });
  process.exitCode = await runNode([join(root, PROGRAM), port, 'annals', 'known-to-everybody', REDIRECT_URI]);
});
