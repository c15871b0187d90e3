import { recordInstallation } from './install.mjs';
import { root } from './ready.mjs';

// `npx annals` comes by here too, and then npm has installed nothing that could be recorded.
if (process.env['npm_command'] !== 'exec') recordInstallation(root);
