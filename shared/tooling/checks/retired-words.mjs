import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';

/** Names of the language, of libraries (MongoDB's write concern) and of the interface, which we cannot change. */
const EXEMPT = new Set(['allSettled', 'PromiseSettledResult', 'SponsorshipSettled', 'journal']);
/** Decision records keep the words of their time. */
const EXEMPT_FOLDERS = /^(shared\/decisions|schemas\/generated)\//;

/**
 * The words of the glossary's second table, each a name of one or more parts in lower case, such as `hand over`.
 * @param {string} glossary the text of the README
 */
export const retiredWords = (glossary) => {
  const [, table = ''] = glossary.split(/^## Words that are not used$/m);
  return (
    table
      .split(/^## /m)[0]
      ?.split('\n')
      .flatMap((line) => /^\| +([a-z][a-z ,]*?) +\|/.exec(line)?.[1]?.split(/, */) ?? []) ?? []
  );
};

/**
 * @param {string} name `handOver`, `HAND_OVER` or `hand-over.spec.ts`
 * @returns {string} ` hand over `
 */
const partsOf = (name) =>
  ` ${name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[^A-Za-z]+/g, ' ')
    .toLowerCase()} `;

/**
 * The file names and identifiers that contain a retired word.
 * @param {string} root
 * @param {readonly string[]} files relative to it
 * @param {readonly string[]} words
 */
export const namesWithRetiredWords = (root, files, words) =>
  files
    .filter((file) => !EXEMPT_FOLDERS.test(file))
    .flatMap((file) => {
      const names = new Set([basename(file), ...(/\.m?ts$|\.mjs$/.test(file) ? identifiersIn(join(root, file)) : [])]);
      return [...names].flatMap((name) => {
        const parts = partsOf(name);
        const word = EXEMPT.has(name) ? undefined : words.find((one) => parts.includes(` ${one} `));
        return word === undefined ? [] : [{ file, name, word }];
      });
    });

/** @param {string} file */
const identifiersIn = (file) => {
  /** @type {Set<string>} */
  const names = new Set();
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest));
  return names;
};
