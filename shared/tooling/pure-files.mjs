import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Pure as a whole, whatever is in them: domains, and the folds of the read models. */
const PURE_FOLDERS = /^services\/[^/]+\/domain\/|^shared\/read-models\//;
/** What starts, binds, describes or helps: tests find faults in it by what comes of it, or there is none to find. */
const ASIDE =
  /^(services|shared)\/(.+\/)?testing\/|^services\/standalone\/|^services\/[^/]+\/[^/]+$|^shared\/(tooling|documents)\/|^schemas\/examples\//;
/** A suffix says what a file touches: a driver, the framework, the test runner. */
const WITHOUT_SUFFIX = /\/[^/.]+\.ts$/;
const WAITS = /\b(async|await|Promise|AbortSignal|setTimeout|setInterval)\b/;
const IMPORTED = /^(?:import|export) (?!type\b)[^;]*? from '([^']+)';/gms;
/** What only computes. */
const PURE_MODULE = /^zod$|^(node:)?(buffer|crypto|net|querystring|util)$/;

/** @param {string} text */
const isPure = (text) =>
  !WAITS.test(text) &&
  [...text.matchAll(IMPORTED)].every(([, module = '']) =>
    module.startsWith('.') ? WITHOUT_SUFFIX.test(module) : PURE_MODULE.test(module),
  );

/**
 * The sources in which every fault has to be found: folds, decisions, rules and codecs. Which these are is told from
 * what they do: they wait for nothing and touch nothing outside.
 * @param {string} root the checkout
 * @returns {string[]} paths below it, with slashes, in order
 */
export const pureFiles = (root) =>
  globSync(['schemas/**/*.ts', 'services/**/*.ts', 'shared/**/*.ts'], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => WITHOUT_SUFFIX.test(file) && !ASIDE.test(file))
    .filter((file) => PURE_FOLDERS.test(file) || isPure(readFileSync(join(root, file), 'utf8')))
    .sort();

/**
 * The specs that have to find them: those of pure folders, and of any other pure file the one of its name.
 * @param {string} root the checkout
 * @param {readonly string[]} files what `pureFiles` says
 */
export const specsOf = (root, files) => [
  ...globSync(['services/*/domain/*.spec.ts', 'shared/read-models/*.spec.ts'], { cwd: root }),
  ...files
    .filter((file) => !PURE_FOLDERS.test(file))
    .map((file) => file.replace(/\.ts$/, '.spec.ts'))
    .filter((spec) => existsSync(join(root, spec))),
];
