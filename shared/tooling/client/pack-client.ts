import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { transformFile } from '@swc/core';
import { z } from 'zod';
import { swcOptions } from '../typescript/swc-options.mjs';
import { routeModule, routeTypes } from './route-module.ts';

/**
 * Makes the package `@annals/client` of `shared/client/`: modules as they are, without types, and their declarations. One module,
 * `routes.ts`, is written anew, so that the package needs no schemas.
 */
const SOURCE = 'shared/client';
const ENTRIES = ['annals-client.ts', 'react.ts'];
const REPLACED = 'routes.ts';
const GZIPPED_MAX = 20_480;
const IMPORT = /(from\s*|import\()'(\.{1,2}\/[^']+)\.ts'/g;

/** A command that hangs ends with an error that names the command. */
const COMMAND_MS = 90_000;

const run = (file: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(file, args, { cwd, timeout: COMMAND_MS, killSignal: 'SIGKILL' });
const manifestOfProgram = z.object({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});

export interface PackedClient {
  /** The file that `npm install` takes. */
  tarball: string;
  /** Of all modules without comments, without `socket.io-client`. */
  gzippedBytes: number;
}

/** @param folder for the package and its tarball; what is in it is removed */
export const packClient = async (root: string, folder: string): Promise<PackedClient> => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'dist'), { recursive: true });
  const sources = await modulesFrom(root);
  for (const [source, code] of sources) writeFileSync(join(folder, 'dist', fileName(source, 'js')), flat(code));
  await writeTypes(root, folder, [...sources.keys()]);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(root), null, 2)}\n`);
  cpSync(join(root, SOURCE, 'README.md'), join(folder, 'README.md'));
  const { stdout } = await run('npm', ['pack', '--json', '--silent', '--offline', '--no-update-notifier'], folder);
  const [packed] = z.array(z.object({ filename: z.string() })).parse(JSON.parse(stdout));
  if (!packed) throw new Error('npm pack made nothing');
  const gzippedBytes = gzipSync([...sources.values()].join('\n')).length;
  if (gzippedBytes > GZIPPED_MAX)
    throw new Error(`the client has ${String(gzippedBytes)} bytes gzipped, over ${String(GZIPPED_MAX)}`);
  return { tarball: join(folder, packed.filename), gzippedBytes };
};

/** Returns the modules of the package by their file names, as a page imports them. */
export const clientModules = async (root: string): Promise<Map<string, string>> =>
  new Map(Array.from(await modulesFrom(root), ([source, code]) => [fileName(source, 'js'), flat(code)]));

/** Returns the JavaScript of the entries and of all that they import of the checkout. */
const modulesFrom = async (root: string): Promise<Map<string, string>> => {
  const modules = new Map<string, string>();
  const compile = async (source: string): Promise<void> => {
    if (modules.has(source)) return;
    modules.set(source, '');
    const code = source === join(SOURCE, REPLACED) ? routeModule() : await javascriptOf(join(root, source));
    modules.set(source, code);
    for (const [, , imported = ''] of code.matchAll(IMPORT)) await compile(join(dirname(source), `${imported}.ts`));
  };
  for (const entry of ENTRIES) await compile(join(SOURCE, entry));
  return modules;
};

/** Returns a module without its types and comments. */
export const javascriptOf = async (file: string): Promise<string> => {
  const jsc = { ...swcOptions.jsc, target: 'es2022' as const, minify: { format: { comments: false as const } } };
  const { code } = await transformFile(file, { ...swcOptions, jsc, sourceMaps: false });
  return code.replaceAll(/from\s*"([^"]+)"/g, "from '$1'");
};

const fileName = (source: string, extension: string) => basename(source).replace(/\.ts$/, `.${extension}`);

/** All modules are in one folder. */
const flat = (code: string): string =>
  code.replaceAll(IMPORT, (_, from: string, path: string) => `${from}'./${basename(path)}.js'`);

const writeTypes = async (root: string, folder: string, sources: readonly string[]): Promise<void> => {
  const output = mkdtempSync(join(tmpdir(), 'annals-client-types-'));
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
  const options = {
    outDir: output,
    rootDir: root,
    declaration: true,
    emitDeclarationOnly: true,
    noEmit: false,
    incremental: false,
    typeRoots: [join(root, 'node_modules/@types')],
  };
  const project = join(output, 'tsconfig.json');
  const files = sources.map((source) => join(root, source));
  writeFileSync(
    project,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions: options, files, include: [] }),
  );
  await run(process.execPath, [compiler, '-p', project], root);
  for (const source of sources) {
    const types =
      source === join(SOURCE, REPLACED)
        ? await routeTypes()
        : readFileSync(join(output, source.replace(/\.ts$/, '.d.ts')), 'utf8');
    writeFileSync(join(folder, 'dist', fileName(source, 'd.ts')), flat(types));
  }
  rmSync(output, { recursive: true });
};

const manifest = (root: string) => {
  const program = manifestOfProgram.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  return {
    name: '@annals/client',
    version: program.version,
    description: 'Signs people in with Annals, queries contract events, and follows them live',
    license: 'UNLICENSED',
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.3' },
    exports: {
      '.': { types: './dist/annals-client.d.ts', default: './dist/annals-client.js' },
      './react': { types: './dist/react.d.ts', default: './dist/react.js' },
    },
    files: ['dist', 'README.md'],
    dependencies: { 'socket.io-client': `^${program.dependencies['socket.io-client'] ?? ''}` },
    peerDependencies: { react: '>=18' },
    peerDependenciesMeta: { react: { optional: true } },
  };
};
