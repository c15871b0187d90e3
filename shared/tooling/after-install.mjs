import { recordInstallation } from './install.mjs';
import { root } from './ready.mjs';

recordInstallation(root);
