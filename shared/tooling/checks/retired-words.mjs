import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import words from './retired-words.json' with { type: 'json' };

/** Names of the language, of libraries (MongoDB's write concern) and of the interface, which we cannot change. */
const EXEMPT = new Set(['allSettled', 'PromiseSettledResult', 'SponsorshipSettled', 'journal']);
/** Decision records keep the words of their time. */
const EXEMPT_FOLDERS = /^(shared\/decisions|schemas\/generated)\//;

/**
 * Words that must not be in the name of a file or of code: nobody outside this project uses them, or they once had several
 * meanings here.
 * @typedef {{ word: string, instead: string }} RetiredWord `word` in lower case, of one or more parts, such as `hand over`
 */

/** @type {readonly RetiredWord[]} */
export const retiredWords = Object.entries(words).flatMap(([forms, instead]) =>
  forms.split(', ').map((word) => ({ word, instead })),
);

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
 * @param {readonly RetiredWord[]} retired
 */
export const namesWithRetiredWords = (root, files, retired) =>
  files
    .filter((file) => !EXEMPT_FOLDERS.test(file))
    .flatMap((file) => {
      const names = new Set([basename(file), ...(/\.m?ts$|\.mjs$/.test(file) ? identifiersIn(join(root, file)) : [])]);
      return [...names].flatMap((name) => {
        const parts = partsOf(name);
        const found = EXEMPT.has(name) ? undefined : retired.find(({ word }) => parts.includes(` ${word} `));
        return found === undefined ? [] : [{ file, name, ...found }];
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
