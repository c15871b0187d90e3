import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { build, inspectBuild } from './build.mjs';

const folder = temporaryFolder();
let root: string;
let checkouts = 0;

const write = (file: string, content: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content);
};
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const outdated = (): string[] => inspectBuild(root).build;

beforeEach(async () => {
  checkouts += 1;
  root = join(folder, String(checkouts));
  write('package-lock.json', '{}');
  write('shared/greeting.ts', "import { name } from './name.ts';\nexport const greeting: string = `Hello ${name}`;\n");
  write('shared/name.ts', "export const name = 'you';\n");
  await build(root);
});

describe('the build', () => {
  it('leaves nothing to do', () => {
    expect(inspectBuild(root)).toMatchObject({ build: [], remove: [] });
  });

  it('imports what it has built', () => {
    expect(read('dist/shared/greeting.js')).toContain('from "./name.js"');
  });

  it('maps back to the source', () => {
    const map =
      /sourceMappingURL=data:application\/json;.*base64,(.*)/.exec(read('dist/shared/greeting.js'))?.[1] ?? '';
    expect(JSON.parse(Buffer.from(map, 'base64').toString())).toMatchObject({ sources: ['../../shared/greeting.ts'] });
  });

  it('tells Nest what to inject', async () => {
    write(
      'services/a.ts',
      'const D = (_: unknown): void => undefined;\nexport class B {}\n@D\nexport class A {\n  constructor(b: B) {}\n}\n',
    );
    await build(root);
    expect(read('dist/services/a.js')).toContain('"design:paramtypes"');
  });

  it('builds a changed source again, and only that', async () => {
    const before = statSync(join(root, 'dist/shared/greeting.js')).mtimeMs;
    write('shared/name.ts', "export const name = 'everyone';\n");
    expect(outdated()).toEqual(['shared/name.ts']);
    await build(root);
    expect(read('dist/shared/name.js')).toContain('everyone');
    expect(statSync(join(root, 'dist/shared/greeting.js')).mtimeMs).toBe(before);
  });

  it('notices a change that keeps the size, and one that keeps the time', () => {
    const { atime, mtime } = statSync(join(root, 'shared/name.ts'));
    write('shared/name.ts', "export const name = 'YOU';\n");
    utimesSync(join(root, 'shared/name.ts'), atime, new Date(mtime.getTime() + 5));
    expect(outdated()).toEqual(['shared/name.ts']);
    write('shared/name.ts', "export const name = 'you two';\n");
    utimesSync(join(root, 'shared/name.ts'), atime, mtime);
    expect(outdated()).toEqual(['shared/name.ts']);
  });

  it('removes what was built from a source that is gone', async () => {
    rmSync(join(root, 'shared/greeting.ts'));
    expect(inspectBuild(root).remove).toEqual(['dist/shared/greeting.js']);
    await build(root);
    expect(existsSync(join(root, 'dist/shared/greeting.js'))).toBe(false);
    expect(existsSync(join(root, 'dist/shared/name.js'))).toBe(true);
  });

  it('builds again what was removed from dist', async () => {
    rmSync(join(root, 'dist/shared/name.js'));
    expect(outdated()).toEqual(['shared/name.ts']);
    await build(root);
    expect(outdated()).toEqual([]);
  });

  it('builds everything again when a package has changed, or its record was cut short', async () => {
    write('package-lock.json', '{ "packages": {} }');
    expect(outdated()).toEqual(['shared/greeting.ts', 'shared/name.ts']);
    await build(root);
    write('dist/.built.json', '{"by":"');
    expect(outdated()).toEqual(['shared/greeting.ts', 'shared/name.ts']);
  });

  it('leaves specs and contracts out, and copies what is no TypeScript', async () => {
    write('shared/name.spec.ts', '');
    write('shared/name.contract.ts', '');
    write('schemas/token.json', '{"token":true}');
    await build(root);
    expect(existsSync(join(root, 'dist/shared/name.spec.js'))).toBe(false);
    expect(existsSync(join(root, 'dist/shared/name.contract.js'))).toBe(false);
    expect(read('dist/schemas/token.json')).toBe('{"token":true}');
  });

  it('does not count as done when a source cannot be compiled', async () => {
    write('shared/name.ts', 'export const = ;\n');
    await expect(build(root)).rejects.toThrow('name.ts');
    expect(outdated()).toEqual(['shared/name.ts']);
  });
});
