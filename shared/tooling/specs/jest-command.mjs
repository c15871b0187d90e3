import { join } from 'node:path';
import { root } from '../ready.mjs';

/** By this one a jest knows that it was started with these arguments. */
export const NO_WARNINGS = '--disable-warning=ExperimentalWarning';

/** The arguments with which Node runs jest. */
export const jestCommand = [NO_WARNINGS, join(root, 'node_modules/jest/bin/jest.js'), '--rootDir', root];
