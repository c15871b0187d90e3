import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { appSignatureExampleText } from '../../schemas/http/app-signature-example.ts';
import { filesOfCheckout } from '../../shared/tooling/checks/files-of-checkout.mjs';
import { consoleSteps } from './testing/console-blocks.ts';
import { commandsIn, faultOfCommand, isRoute } from './testing/documented-commands.ts';
import { readMarkdown, resolves, type Piece } from './testing/markdown.ts';

/** What newcomers read. Every code block is parsed by what would run it, or is an extract of a file. */
const root = join(import.meta.dirname, '../..');
const names = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
const documents = names.map((name) => readMarkdown(root, name));
const blocksOf = (language: string) =>
  documents.flatMap(({ blocks }) => blocks.filter((block) => block.language === language));

const files = filesOfCheckout(root);
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const code = files
  .filter((file) => /\.(ts|mjs|yml)$|^package\.json$/.test(file) && !file.endsWith('documentation.spec.ts'))
  .map(textOf)
  .join('\n');
const checkout = { root, files, isInCode: (text: string) => code.includes(text) };

const oneSpaced = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
/** Whether a path, or the end of one, is a file or a folder of the checkout. */
const isPath = (path: string): boolean =>
  files.some((file) => file.endsWith(path) || `/${file}`.includes(`/${path.replace(/\/$/, '')}/`));
const looksLikePath = (text: string): boolean =>
  /^[\w.-]+\/[\w./-]*$/.test(text) || /^[\w.-]*\.(ts|mjs|md|yml|json)$/.test(text);
/** Placeholders, and texts of more than one word. */
const isUnchecked = (text: string): boolean => /[\s<>{}*…]/.test(text);

const faultOfSpan = async ({ text }: Piece): Promise<string | undefined> => {
  if (/^(GET|POST|DELETE) \//.test(text)) return isRoute(text) ? undefined : 'is no route';
  if (/^(npm|\.\/annals) /.test(text)) return faultOfCommand(text, checkout);
  if (isUnchecked(text)) return undefined;
  if (looksLikePath(text)) return isPath(text) ? undefined : 'is no path';
  return checkout.isInCode(text.replace(/^([A-Z_]+)=.*/, '$1')) ? undefined : 'does not occur in the code';
};

describe('README.md and docs/', () => {
  it('have code blocks of these kinds', () => {
    const known = ['sh', 'ts', 'text', 'tree', 'console'].flatMap(blocksOf);
    expect(documents.flatMap(({ blocks }) => blocks).filter((block) => !known.includes(block))).toEqual([]);
    expect(known.length).toBeGreaterThan(20);
  });

  it.each(blocksOf('sh'))('have commands that can be typed like that: $place', async ({ text }) => {
    for (const command of commandsIn(text)) {
      expect({ command, fault: await faultOfCommand(command, checkout) }).toEqual({ command, fault: undefined });
    }
  });

  it('show sessions of a terminal only where a test runs them, with commands that can be typed like that', async () => {
    const commands = blocksOf('console').flatMap(({ place, text }) =>
      consoleSteps(text).map(({ command }) => ({ place, command })),
    );
    expect(commands.filter(({ place }) => !place.startsWith('docs/auditing.md:'))).toEqual([]);
    for (const { command } of commands.filter((one) => one.command.startsWith('./annals '))) {
      const typed = command.split(' > ')[0]?.replaceAll(/\$\w+|"\$\([^)]*\)"/g, '1') ?? '';
      expect({ command, fault: await faultOfCommand(typed, checkout) }).toEqual({ command, fault: undefined });
    }
  });

  it.each([
    ['npm run nothing', 'there is no script nothing'],
    ['npm test -- no-such-spec', 'no file of test has no-such-spec in its path'],
    ['NOBODY_READS_IT=1 npm test', 'nothing reads NOBODY_READS_IT'],
    ['./annals app creat', "error: unknown command 'creat'"],
    ['./annals app create --name a --origins b', "error: unknown option '--origins'"],
    ['curl http://127.0.0.1:3000/nothing', 'no route of port 3000 is /nothing'],
    ['./anals', 'there is no program ./anals'],
  ])('would not have the command %s', async (command, fault) => {
    expect(await faultOfCommand(command, checkout)).toContain(fault);
  });

  it.each(blocksOf('ts'))('have code that is an extract of the file that is named: $place', ({ source, text }) => {
    expect(oneSpaced(textOf(source ?? 'no comment says from where'))).toContain(oneSpaced(text));
  });

  it.each(blocksOf('text'))('have pictures, and the example of what an app signs: $place', ({ source, text }) => {
    if (source === undefined) expect(text).toMatch(/[│←→▼]/);
    else expect(text).toBe(appSignatureExampleText);
  });

  it.each(blocksOf('tree'))('have trees of files that exist: $place', ({ text }) => {
    const missing: string[] = [];
    const parents: string[] = [];
    for (const line of text.split('\n')) {
      const [, indent = '', entries = ''] = /^( *)((?:\S+ )*\S+)(?: {2,}.*)?$/.exec(line) ?? [];
      const depth = indent.length / 2;
      const paths = entries.split(' ').map((entry) => parents.slice(0, depth).join('') + entry);
      parents[depth] = entries;
      missing.push(...paths.filter((path) => !files.some((file) => file === path || file.startsWith(path))));
    }
    expect(missing).toEqual([]);
  });

  it('have paths, routes, commands and names that exist', async () => {
    const faults: string[] = [];
    for (const span of documents.flatMap(({ spans }) => spans)) {
      const fault = await faultOfSpan(span);
      if (fault !== undefined) faults.push(`${span.place}: ${span.text} ${fault}`);
    }
    expect(faults).toEqual([]);
  });

  it.each(documents)('have links that lead somewhere: $name', ({ name, links }) => {
    expect(links.filter(({ text }) => !resolves(root, name, text))).toEqual([]);
  });
});

describe('README.md', () => {
  const [readme] = documents;

  it('is short', () => {
    expect(readme?.lines).toBeLessThanOrEqual(120);
  });

  it('names what is in the file of the same row', () => {
    const spansIn = (cell = '') => Array.from(cell.matchAll(/`([^`]+)`/g), ([, span = '']) => span);
    const rows = (readme?.rows ?? []).flatMap(([, file, name]) =>
      spansIn(name).map((span) => ({ file: spansIn(file)[0] ?? '', span })),
    );
    expect(rows.length).toBeGreaterThan(12);
    expect(rows.filter(({ file, span }) => !textOf(file).includes(span))).toEqual([]);
  });
});
