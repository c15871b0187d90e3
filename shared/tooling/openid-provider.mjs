import { runCommand } from './failure.mjs';
import { runNode } from './launch.mjs';
import { getReady } from './ready.mjs';
import { typescriptProgram } from './typescript/typescript-program.mjs';

const PROGRAM = 'services/account/testing/openid-provider/main.ts';
/** Of the app of a development start. */
const REDIRECT_URI = 'http://localhost:5173/callback';
const [port = '3009'] = process.argv.slice(2);
const USAGE = `Usage: npm run openid-provider -- [port]

An OpenID Connect provider to log in at, on this machine, with the setting for it; default port 3009.

Example:
  npm run openid-provider -- 3010`;

await runCommand(async () => {
  const asksForHelp = port === '--help' || port === '-h';
  if (asksForHelp || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    console[asksForHelp ? 'log' : 'error'](asksForHelp ? USAGE : `${port} is not a port.\n\n${USAGE}`);
    process.exitCode = asksForHelp ? 0 : 2;
    return;
  }
  await getReady({ development: true });
  process.exitCode = await runNode([...typescriptProgram(PROGRAM), port, 'annals', 'known-to-everybody', REDIRECT_URI]);
});
