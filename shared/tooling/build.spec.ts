import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { build, isBuilt } from './build.mjs';

const folder = temporaryFolder();
let root: string;
let checkouts = 0;

const write = (file: string, content: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content);
};
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

beforeEach(async () => {
  checkouts += 1;
  root = join(folder, String(checkouts));
  write('package.json', '{}');
  write('package-lock.json', '{}');
  write('shared/greeting.ts', "import { name } from './name.ts';\nexport const greeting: string = `Hello ${name}`;\n");
  write('shared/name.ts', "export const name = 'you';\n");
  await build(root);
});

describe('the build', () => {
  it('is up to date once it is done', () => {
    expect(isBuilt(root)).toBe(true);
  });

  it('rewrites imports to the built files', () => {
    expect(read('dist/shared/greeting.js')).toContain('from "./name.js"');
  });

  it('has source maps', () => {
    const map =
      /sourceMappingURL=data:application\/json;.*base64,(.*)/.exec(read('dist/shared/greeting.js'))?.[1] ?? '';
    expect(JSON.parse(Buffer.from(map, 'base64').toString())).toMatchObject({ sources: ['../../shared/greeting.ts'] });
  });

  it('emits the decorator metadata by which Nest injects', async () => {
    write(
      'services/a.ts',
      'const D = (_: unknown): void => undefined;\nexport class B {}\n@D\nexport class A {\n  constructor(b: B) {}\n}\n',
    );
    await build(root);
    expect(read('dist/services/a.js')).toContain('"design:paramtypes"');
  });

  it.each([
    'shared/name.spec.ts',
    'shared/name.contract.ts',
    'shared/testing/engines/store.memory.ts',
    'services/a/testing/builder.ts',
    'services/onchain/testing/chain.ts',
    'services/standalone/attacks/attack.ts',
    'services/standalone/bench/main.ts',
    'services/standalone/bench/package.json',
    'schemas/examples/event-examples.ts',
    'shared/tooling/documents/openapi.ts',
    'shared/tooling/build.mjs',
  ])('leaves out %s', async (file) => {
    write(file, '');
    expect(isBuilt(root)).toBe(true);
    await build(root);
    expect(existsSync(join(root, 'dist', file.replace(/ts$/, 'js')))).toBe(false);
  });

  it('copies files other than TypeScript', async () => {
    write('schemas/token.json', '{"token":true}');
    await build(root);
    expect(read('dist/schemas/token.json')).toBe('{"token":true}');
    expect(read('dist/package.json')).toBe('{}');
  });

  it.each([
    ['a source has changed', () => write('shared/name.ts', "export const name = 'YOU';\n")],
    ['a source is new', () => write('shared/other.ts', 'export const other = 1;\n')],
    ['a source is gone', () => rmSync(join(root, 'shared/greeting.ts'))],
    ['a package has changed', () => write('package-lock.json', '{ "packages": {} }')],
    ['an output is gone', () => rmSync(join(root, 'dist/shared/name.js'))],
    ['an output has no source', () => write('dist/shared/removed.js', '')],
    ['it was interrupted', () => write('dist/.built', '')],
  ])('is repeated when %s', async (_what, change) => {
    change();
    expect(isBuilt(root)).toBe(false);
    await build(root);
    expect(isBuilt(root)).toBe(true);
    expect(existsSync(join(root, 'dist/shared/greeting.js'))).toBe(existsSync(join(root, 'shared/greeting.ts')));
    expect(existsSync(join(root, 'dist/shared/removed.js'))).toBe(false);
    expect(read('dist/shared/name.js')).toContain(/'.*'/.exec(read('shared/name.ts'))?.[0].slice(1, -1));
  });

  it('is not up to date after a source could not be compiled, even when that is restored', async () => {
    write('shared/name.ts', 'export const = ;\n');
    await expect(build(root)).rejects.toThrow('name.ts');
    write('shared/name.ts', "export const name = 'you';\n");
    expect(isBuilt(root)).toBe(false);
  });
});
