import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { swcOptions } from './swc-options.mjs';

const SOURCES = ['deploy/examples', 'schemas', 'services', 'shared'];
const OUTPUT = 'dist';
/** What was built from what. The dot keeps it, like all that is not built from a source, from being swept away. */
const RECORD = 'dist/.built.json';
const UNFINISHED = 'dist/.unfinished';

/** @typedef {{ by: string, files: Record<string, string> }} BuildRecord `files`: source to its size and time */

/**
 * All files of a folder, relative to it; none if it is not there.
 * @param {string} folder
 * @returns {string[]}
 */
const filesIn = (folder) => {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(join(folder, entry.name)).map((file) => join(entry.name, file)) : [entry.name],
  );
};

/** @param {string} source */
const outputOf = (source) => source.replace(/\.ts$/, '.js');

/** @param {string} file */
const sizeAndTime = (file) => {
  const { size, mtimeMs } = statSync(file);
  return `${String(size)} ${String(mtimeMs)}`;
};

/**
 * @param {string} root
 * @returns {BuildRecord} of the sources as they are
 */
const wantedRecord = (root) => ({
  by: createHash('sha256')
    .update(JSON.stringify(swcOptions))
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex'),
  files: Object.fromEntries(
    SOURCES.flatMap((folder) => filesIn(join(root, folder)).map((file) => join(folder, file)))
      .filter((source) => !/\.(spec|contract)\.ts$|\.md$/.test(source))
      .map((source) => [source, sizeAndTime(join(root, source))]),
  ),
});

/**
 * @param {string} root
 * @returns {BuildRecord} empty if there is none, or one that was cut short
 */
const writtenRecord = (root) => {
  try {
    return /** @type {BuildRecord} */ (JSON.parse(readFileSync(join(root, RECORD), 'utf8')));
  } catch {
    return { by: '', files: {} };
  }
};

/**
 * Compares dist with the sources: which of them have to be built, and which outputs have none any more.
 * @param {string} root
 */
export const inspectBuild = (root) => {
  const [wanted, written] = [wantedRecord(root), writtenRecord(root)];
  const outputs = new Set(filesIn(join(root, OUTPUT)).filter((file) => !file.startsWith('.')));
  const build = Object.keys(wanted.files).filter(
    (source) =>
      written.by !== wanted.by || written.files[source] !== wanted.files[source] || !outputs.delete(outputOf(source)),
  );
  for (const source of build) outputs.delete(outputOf(source));
  return { wanted, build, remove: [...outputs].map((file) => join(OUTPUT, file)) };
};

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
 * Brings dist up to date with the sources: specs and contracts are left out, what is no TypeScript is copied.
 * @param {string} root
 */
export const build = async (root) => {
  // Only here, because the launcher runs before the packages are there.
  const { transformFile } = await import('@swc/core');
  const plan = inspectBuild(root);
  await Promise.all(
    plan.build.map(async (source) => {
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
  for (const file of plan.remove) rmSync(join(root, file));
  write(root, RECORD, JSON.stringify(plan.wanted));
};
