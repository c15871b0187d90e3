import { join } from 'node:path';
import { root } from './ready.mjs';

/** The arguments with which Node runs jest. */
export const jestCommand = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
  '--rootDir',
  root,
];
