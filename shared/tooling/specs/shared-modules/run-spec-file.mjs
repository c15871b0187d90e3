import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire, registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import '../../typescript/compile-on-import.mjs';
import { restoreGlobals, setGlobals } from './spec-globals.mjs';

/**
 * @typedef {(
 *   globalConfig: unknown, config: unknown, environment: unknown, runtime: unknown, path: string, send?: unknown
 * ) => Promise<unknown>} TestRunner
 */

const require = createRequire(import.meta.url);
/** @type {{ default: TestRunner }} */
const circus = require('jest-circus/runner');
const globals = new URL('spec-globals.mjs', import.meta.url).href;
/** Where jest-circus keeps the handlers of its events for the file that it runs. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globals, shortCircuit: true } : next(specifier, context),
});
process.setSourceMapsEnabled(true);
// Each run draws the same cases, so that a red run is the fault of a change. `npm run test:all` draws others.
fc.configureGlobal({ seed: Number(process.env['CASES_SEED'] ?? 1) });

/** What jest-circus asks of jest's runtime, with Node's own modules instead of those of a new context. */
const runtime = {
  /** @param {string} path of jest-circus' own module, which has the state of one file */
  requireInternalModule: (path) => {
    Reflect.deleteProperty(globalThis, EVENT_HANDLERS);
    Reflect.deleteProperty(require.cache, path);
    return require(path);
  },
  requireModule: require,
  setGlobalsForRuntime: setGlobals,
  unstable_shouldLoadAsEsm: () => true,
  /** @param {string} path */
  unstable_importModule: (path) => {
    // jest's own finds the source maps of modules that jest compiles only.
    Reflect.deleteProperty(Error, 'prepareStackTrace');
    return import(pathToFileURL(path).href);
  },
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
};

/** Programs that end now may still write to a folder: its removal is tried this often, 100 ms later each time. */
const REMOVALS_MAX = 15;

/**
 * Gives the specs that run meanwhile a folder of their own for temporary files. The folder is removed after the last hook of the
 * spec file, because hooks stop the programs that write to it.
 * @template Result
 * @param {() => Promise<Result>} run
 */
const withTemporaryFolder = async (run) => {
  const outer = tmpdir();
  const folder = mkdtempSync(join(outer, 'annals-spec-'));
  process.env['TMPDIR'] = folder;
  try {
    return await run();
  } finally {
    process.env['TMPDIR'] = outer;
    await rm(folder, { recursive: true, force: true, maxRetries: REMOVALS_MAX });
  }
};

/**
 * Runs a spec file in the process of its worker, with the modules that files before it have loaded: to load them anew for
 * each file, as jest does, takes more of the processor than most specs do.
 * @type {TestRunner}
 */
const runSpecFile = (globalConfig, config, environment, _runtime, path, send) =>
  withTemporaryFolder(() =>
    circus.default(globalConfig, config, environment, runtime, path, send).finally(restoreGlobals),
  );

export default runSpecFile;
