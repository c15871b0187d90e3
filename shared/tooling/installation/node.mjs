import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../failure.mjs';
import { inspectInstallation } from './install.mjs';

export const NODE_MAJOR = 26;
const checkout = fileURLToPath(new URL('../../..', import.meta.url));
/** Its package.json names a package of Node for each platform. It is installed where no other Node is new enough. */
export const nodeFolder = join(checkout, '.node');
const packagedNode = join(nodeFolder, 'node_modules/.bin/node');

/**
 * Whether a program is a Node that is new enough, and is not of a package that npm may replace while it runs.
 * @param {string} program
 */
const fits = (program) => {
  if (!existsSync(program) || realpathSync(program).startsWith(join(checkout, 'node_modules') + sep)) return false;
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 && Number.parseInt(stdout.replace(/^v/, ''), 10) >= NODE_MAJOR;
};

/**
 * Finds an installed Node: what runs this process, what runs npm, or what is on PATH.
 * @param {{ execPath: string, env: NodeJS.ProcessEnv }} of
 */
export const findInstalledNode = ({ execPath, env }) => {
  const onPath = (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return [execPath, env['npm_node_execpath'] ?? '', ...onPath].find(fits);
};

const findPackagedNode = () =>
  existsSync(packagedNode) && inspectInstallation(nodeFolder).whole ? packagedNode : undefined;

/** @type {string | undefined} */
let found;

/** The Node that runs programs and tests; `undefined` if it must be installed first. */
export const findNode = () => (found ??= findInstalledNode(process) ?? findPackagedNode());

/** The same where it was installed. @throws Failure */
export const nodeBinary = () => {
  const node = findNode();
  if (node !== undefined) return node;
  const platform = `${process.platform}-${process.arch}`;
  throw new Failure(
    `There is no Node ${String(NODE_MAJOR)} package for ${platform}: install Node ${String(NODE_MAJOR)} and start again.`,
  );
};
