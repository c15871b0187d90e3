import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions } from './swc-options.mjs';

const SOURCES = ['deploy/examples', 'schemas', 'services', 'shared'];
/** Beside those: what the program is called, and its version. */
const MANIFEST = 'package.json';
const OUTPUT = 'dist';
/** Tells a whole build from one that was cut short, and of what it is. The dot keeps it from counting as built. */
const STAMP = 'dist/.built';
const UNFINISHED = 'dist/.unfinished';

/**
 * All files of a folder, relative to it and in order; none if it is not there.
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
    (source) => !/\.(spec|contract)\.ts$|\.md$/.test(source),
  ),
  MANIFEST,
];

/** @param {string} root */
const outputsIn = (root) => filesIn(join(root, OUTPUT)).filter((file) => !file.startsWith('.'));

/** @param {string} source */
const outputOf = (source) => source.replace(/\.ts$/, '.js');

/**
 * Of all that a build is made of, and of the names of what it makes.
 * @param {string} root
 * @param {readonly string[]} outputs
 */
const digest = (root, outputs) => {
  const hash = createHash('sha256').update(JSON.stringify([swcOptions, outputs]));
  const inputs = ['package-lock.json', ...sourcesIn(root)].map((file) => join(root, file));
  for (const file of [fileURLToPath(import.meta.url), ...inputs]) {
    hash.update(`\0${file}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
};

/**
 * Whether dist holds what these sources give.
 * @param {string} root
 */
export const isBuilt = (root) =>
  existsSync(join(root, STAMP)) && readFileSync(join(root, STAMP), 'utf8') === digest(root, outputsIn(root));

/**
 * Never half a file: whoever reads dist meanwhile has the old one or the new one.
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
 * Builds everything, which takes a second: specs and contracts are left out, what is not TypeScript is copied.
 * @param {string} root
 */
export const build = async (root) => {
  // Only here, because the launcher runs before the packages are there.
  const { transformFile } = await import('@swc/core');
  rmSync(join(root, STAMP), { force: true });
  const sources = sourcesIn(root);
  const outputs = sources.map(outputOf).sort();
  // Before anything is read: what changes meanwhile is built again.
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
