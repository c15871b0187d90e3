import { join } from 'node:path';
import { root } from './ready.mjs';

/** What Node is given to run jest. */
export const jestCommand = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
  '--rootDir',
  root,
];
