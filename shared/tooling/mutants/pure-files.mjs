import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Folders whose files are all pure: domains, and the folds of the read models. */
const PURE_FOLDERS = /^services\/(.+\/)?domain\/|^shared\/read-models\//;
/** Files without rules of their own, whose faults only other tests find: wiring, tooling, documents, test helpers. */
const EXCLUDED =
  /^(services|shared)\/(.+\/)?testing\/|^services\/standalone\/|^services\/[^/]+\/[^/]+$|^shared\/(tooling|documents)\/|^schemas\/(examples|socket)\/|^schemas\/development-file\./;
/** Files without a suffix: a suffix names the driver, framework or test runner that a file uses. */
const WITHOUT_SUFFIX = /\/[^/.]+\.ts$/;
const ASYNCHRONOUS = /\b(async|await|Promise|AbortSignal|setTimeout|setInterval)\b/;
/** Code that waits; a port that is imported for its errors only names promises. */
const WAITING = /\b(async|await|new Promise|Promise\.\w+|setTimeout|setInterval)\b/;
const IMPORTED = /^(?:import|export) (?!type\b)[^;]*? from '([^']+)';/gms;
/** Packages and modules of Node without side effects. */
const PURE_MODULE = /^zod$|^(node:)?(buffer|crypto|net|querystring|util)$/;

/** @param {string} root the checkout */
const purityOf = (root) => {
  /** @type {Map<string, boolean>} */
  const known = new Map();
  /** @param {string} file @returns {boolean} */
  const isPure = (file) => {
    const path = join(root, file);
    if (!WITHOUT_SUFFIX.test(file)) return false;
    if (known.has(file) || !existsSync(path)) return known.get(file) ?? true;
    // What imports it in a circle is decided by the rest of the circle.
    known.set(file, true);
    const text = readFileSync(path, 'utf8');
    const isPureText =
      !WAITING.test(text) &&
      [...text.matchAll(IMPORTED)].every(([, module = '']) =>
        module.startsWith('.') ? isPure(posix.join(posix.dirname(file), module)) : PURE_MODULE.test(module),
      );
    known.set(file, isPureText);
    return isPureText;
  };
  return isPure;
};

/**
 * The sources whose mutants specs must find: folds, decisions, rules and codecs. They are recognised by being synchronous
 * and importing nothing with side effects, and neither does what they import.
 * @param {string} root the checkout
 * @returns {string[]} paths below it, with slashes, in order
 */
export const pureFiles = (root) => {
  const isPure = purityOf(root);
  return globSync(['schemas/**/*.ts', 'services/**/*.ts', 'shared/**/*.ts'], { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => WITHOUT_SUFFIX.test(file) && !EXCLUDED.test(file))
    .filter(
      (file) => PURE_FOLDERS.test(file) || (isPure(file) && !ASYNCHRONOUS.test(readFileSync(join(root, file), 'utf8'))),
    )
    .sort();
};

/**
 * The specs that must find these mutants: all specs of pure folders, and for any other pure file the spec of its name.
 * @param {string} root the checkout
 * @param {readonly string[]} files the result of `pureFiles`
 */
export const specsOf = (root, files) => [
  ...globSync(['services/**/domain/**/*.spec.ts', 'shared/read-models/**/*.spec.ts'], { cwd: root }),
  ...files
    .filter((file) => !PURE_FOLDERS.test(file))
    .map((file) => file.replace(/\.ts$/, '.spec.ts'))
    .filter((spec) => existsSync(join(root, spec))),
];
