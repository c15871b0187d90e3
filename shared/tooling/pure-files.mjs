import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders whose files are all pure: domains, and the folds of the read models. */
const PURE_FOLDERS = /^services\/[^/]+\/domain\/|^shared\/read-models\//;
/** Files without rules of their own, whose faults only other tests find: wiring, tooling, documents, test helpers. */
const EXCLUDED =
  /^(services|shared)\/(.+\/)?testing\/|^services\/standalone\/|^services\/[^/]+\/[^/]+$|^shared\/(tooling|documents)\/|^schemas\/examples\//;
/** Files without a suffix: a suffix names the driver, framework or test runner that a file uses. */
const WITHOUT_SUFFIX = /\/[^/.]+\.ts$/;
const ASYNCHRONOUS = /\b(async|await|Promise|AbortSignal|setTimeout|setInterval)\b/;
const IMPORTED = /^(?:import|export) (?!type\b)[^;]*? from '([^']+)';/gms;
/** Packages and modules of Node without side effects. */
const PURE_MODULE = /^zod$|^(node:)?(buffer|crypto|net|querystring|util)$/;

/** @param {string} text */
const isPure = (text) =>
  !ASYNCHRONOUS.test(text) &&
  [...text.matchAll(IMPORTED)].every(([, module = '']) =>
    module.startsWith('.') ? WITHOUT_SUFFIX.test(module) : PURE_MODULE.test(module),
  );

/**
 * The sources whose mutants specs must find: folds, decisions, rules and codecs. They are recognised by being synchronous
 * and importing nothing with side effects.
 * @param {string} root the checkout
 * @returns {string[]} paths below it, with slashes, in order
 */
export const pureFiles = (root) =>
  globSync(['schemas/**/*.ts', 'services/**/*.ts', 'shared/**/*.ts'], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => WITHOUT_SUFFIX.test(file) && !EXCLUDED.test(file))
    .filter((file) => PURE_FOLDERS.test(file) || isPure(readFileSync(join(root, file), 'utf8')))
    .sort();

/**
 * The specs that must find these mutants: all specs of pure folders, and for any other pure file the spec of its name.
 * @param {string} root the checkout
 * @param {readonly string[]} files the result of `pureFiles`
 */
export const specsOf = (root, files) => [
  ...globSync(['services/*/domain/*.spec.ts', 'shared/read-models/*.spec.ts'], { cwd: root }),
  ...files
    .filter((file) => !PURE_FOLDERS.test(file))
    .map((file) => file.replace(/\.ts$/, '.spec.ts'))
    .filter((spec) => existsSync(join(root, spec))),
];
