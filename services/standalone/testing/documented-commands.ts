import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommanderError, type Command } from 'commander';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { RouteContract } from '../../../schemas/http/route.ts';
import { annalsCommand } from '../command-line/annals-command.ts';

interface Checkout {
  root: string;
  files: readonly string[];
  /** Whether a text occurs in the code. */
  isInCode: (text: string) => boolean;
}

const routes = Object.values<RouteContract>({ ...accountRoutes, ...eventCatcherRoutes });

/** The commands in lines of a shell, without comments, one of each line or part of a line. */
export const commandsIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .flatMap((line) => line.split(' && '))
    .filter((line) => line !== '');

/** Whether a method and path, such as `GET /user/{id}`, are those of a route. */
export const isRoute = (text: string): boolean => {
  const [method, path = ''] = text.split(' ');
  return routes.some((route) => route.method === method && route.path === path.split('?')[0]);
};

/** Returns what is wrong with a documented command; `undefined` if it can be typed like that. */
export const faultOfCommand = async (command: string, checkout: Checkout): Promise<string | undefined> => {
  const words = command.split(/\s+/);
  const settings = words.filter((word, at) => /^[A-Z_]+=/.test(word) && words.slice(0, at).every(isSetting));
  const unknown = settings.find((setting) => !checkout.isInCode(setting.split('=')[0] ?? ''));
  if (unknown !== undefined) return `nothing reads ${unknown}`;
  const [program = '', ...args] = words.slice(settings.length);
  switch (program) {
    case 'npm':
      return faultOfScript(args, checkout);
    case 'npx':
      return existsSync(join(checkout.root, 'node_modules/.bin', args[0] ?? '')) ? undefined : 'no such program';
    case './annals':
      return faultOfAnnals(args.join(' '));
    case 'curl':
      return faultOfCurl(args);
    case 'docker':
      return args.join(' ') === 'compose up -d' ? undefined : 'only docker compose up -d is known here';
    case 'node':
      return existsSync(join(checkout.root, args[0] ?? '')) ? undefined : `there is no ${args[0] ?? ''}`;
    default:
      return existsSync(join(checkout.root, program)) ? undefined : `there is no program ${program}`;
  }
};

const isSetting = (word: string): boolean => /^[A-Z_]+=/.test(word);

const faultOfScript = (args: readonly string[], { root, files }: Checkout): string | undefined => {
  const [script = '', ...rest] = args[0] === 'run' ? args.slice(1) : args;
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  if (script === 'ci') return undefined;
  if (!Object.hasOwn(scripts, script)) return `there is no script ${script}`;
  const given = rest.filter((word) => !word.startsWith('-'));
  const suffix = script === 'bench' ? '.bench.ts' : script === 'mutants' ? '.ts' : '.spec.ts';
  const missing = given.find((word) => !files.some((file) => file.endsWith(suffix) && file.includes(word)));
  return missing === undefined ? undefined : `no file of ${script} has ${missing} in its path`;
};

/** Has the real command line parse it; only what it would do then is left out. */
const faultOfAnnals = async (args: string): Promise<string | undefined> => {
  const words = args
    .replaceAll(/<[^>]*>/g, '1')
    .split(' ')
    .filter((word) => word !== '');
  try {
    await onlyParsing(await annalsCommand()).parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? undefined : error.message;
  }
};

const onlyParsing = (command: Command): Command => {
  command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  if (command.commands.length === 0) command.action(() => undefined);
  command.commands.forEach(onlyParsing);
  return command;
};

const PORTS: Readonly<Record<string, RouteContract['service']>> = { 3000: 'account', 3001: 'event-catcher' };

const faultOfCurl = ([url = '']: readonly string[]): string | undefined => {
  const { port, pathname } = new URL(url);
  const isKnown = routes.some((route) => route.service === PORTS[port] && route.path === pathname);
  return isKnown ? undefined : `no route of port ${port} is ${pathname}`;
};
