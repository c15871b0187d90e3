import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions } from './typescript/swc-options.mjs';
import { NOT_PRODUCT } from './testing-files.mjs';

const SOURCES = ['deploy/examples', 'schemas', 'services', 'shared'];
/** The program reads its name and version from here. */
const MANIFEST = 'package.json';
/** Left out, beside documents. */
const TESTS = new RegExp(NOT_PRODUCT);
const OUTPUT = 'dist';
/** Written when a build is complete, with a digest of its sources. Files that begin with a dot are not outputs. */
const STAMP = 'dist/.built';
const UNFINISHED = 'dist/.unfinished';

/**
 * All files of a folder, relative to it and in order; none if it does not exist.
 * @param {string} folder
 * @returns {string[]}
 */
const filesIn = (folder) => {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? filesIn(join(folder, entry.name)).map((file) => join(entry.name, file)) : [entry.name],
    )
    .sort();
};

/** @param {string} root */
const sourcesIn = (root) => [
  ...SOURCES.flatMap((folder) => filesIn(join(root, folder)).map((file) => join(folder, file))).filter(
    (source) => !TESTS.test(source.replaceAll(sep, '/')) && !source.endsWith('.md'),
  ),
  MANIFEST,
];

/** @param {string} root */
const outputsIn = (root) => filesIn(join(root, OUTPUT)).filter((file) => !file.startsWith('.'));

/** @param {string} source */
const outputOf = (source) => source.replace(/\.ts$/, '.js');

/**
 * A digest of everything that a build depends on, and of the names of its outputs.
 * @param {string} root
 * @param {readonly string[]} outputs
 */
const digest = (root, outputs) => {
  const hash = createHash('sha256').update(JSON.stringify([swcOptions, NOT_PRODUCT, outputs]));
  const inputs = ['package-lock.json', ...sourcesIn(root)].map((file) => join(root, file));
  for (const file of [fileURLToPath(import.meta.url), ...inputs]) {
    hash.update(`\0${file}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
};

/**
 * Whether dist is complete and built from the present sources.
 * @param {string} root
 */
export const isBuilt = (root) =>
  existsSync(join(root, STAMP)) && readFileSync(join(root, STAMP), 'utf8') === digest(root, outputsIn(root));

/**
 * Writes a file so that a concurrent reader sees either the old or the new content.
 * @param {string} root
 * @param {string} file
 * @param {string | Uint8Array} content
 */
const write = (root, file, content) => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, UNFINISHED), content);
  renameSync(join(root, UNFINISHED), join(root, file));
};

/**
 * Builds the product, without tests, benches, examples and tools; files other than TypeScript are copied.
 * @param {string} root
 */
export const build = async (root) => {
  // Imported here, because the launcher loads this module before the packages are installed.
  const { transformFile } = await import('@swc/core');
  rmSync(join(root, STAMP), { force: true });
  const sources = sourcesIn(root);
  const outputs = sources.map(outputOf).sort();
  // Computed before the sources are read, so that a source that changes meanwhile makes the stamp outdated.
  const stamp = digest(root, outputs);
  await Promise.all(
    sources.map(async (source) => {
      const [from, to] = [join(root, source), join(OUTPUT, outputOf(source))];
      if (!source.endsWith('.ts')) {
        write(root, to, readFileSync(from));
        return;
      }
      const sourceFileName = relative(dirname(join(root, to)), from);
      const jsc = { ...swcOptions.jsc, rewriteRelativeImportExtensions: true };
      const { code } = await transformFile(from, { ...swcOptions, jsc, sourceFileName });
      write(root, to, code);
    }),
  );
  for (const file of outputsIn(root)) if (!outputs.includes(file)) rmSync(join(root, OUTPUT, file));
  write(root, STAMP, stamp);
};
