import { dirname } from 'node:path/posix';

/** Files at one level of a folder, its subfolders not counted. More of them are two subjects: each gets a folder. */
export const FILES_MAX = 20;

/** Folders that may have more files, each with the reason. */
const EXEMPT = new Map([
  ['schemas/generated/events', 'generated: one schema for each event'],
  ['shared/decisions', 'numbered records, read by their number'],
]);

/**
 * Returns the folders that have too many files at one level, with their number of files.
 * @param {readonly string[]} files relative to the checkout, with `/` between folders
 */
export const crowdedFolders = (files) => {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const folder of files.map(dirname)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return [...counts]
    .filter(([folder, count]) => count > FILES_MAX && !EXEMPT.has(folder))
    .map(([folder, count]) => ({ folder, count }));
};
