import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);
const hooks = new URL('compile-on-import.mjs', import.meta.url).href;

/**
 * The arguments with which Node runs a program that is not part of the build, from its source.
 * @param {string} file relative to the checkout
 */
export const typescriptProgram = (file) => [
  '--enable-source-maps',
  `--import=${hooks}`,
  fileURLToPath(new URL(file, root)),
];
