import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { root } from '../ready.mjs';

const folder = temporaryFolder();

/** Code that one of our own rules refuses, by its file. */
const VIOLATIONS = {
  'services/left/domain/utils.ts': ['file-says-what-it-is', 'export const one = 1;'],
  'services/left/default.ts': ['names', 'const one = 1;\nexport default one;'],
  'services/left/colour.ts': ['names', 'export enum Colour {\n  Red,\n}'],
  'services/left/domain/now.ts': ['time-and-chance', 'export const now = () => Date.now();'],
  'services/left/domain/today.ts': ['time-and-chance', 'export const today = () => new Date();'],
  'services/left/domain/chance.ts': ['time-and-chance', 'export const chance = () => Math.random();'],
  'services/left/make.handler.ts': [
    'time-and-chance',
    "import { randomInt } from 'node:crypto';\nexport { randomInt };",
  ],
} satisfies Record<string, readonly [string, string]>;
/** The same code where it is allowed. */
const ALLOWED = {
  'services/left/tool.mjs': 'export default 1;',
  'services/left/domain/now.spec.ts': 'export const now = () => Date.now();',
  'services/left/edge/now.ts': 'export const now = () => Date.now();',
};

it('finds what the rules of this project refuse, in the files that they are about', () => {
  const files = {
    ...ALLOWED,
    ...Object.fromEntries(Object.entries(VIOLATIONS).map(([file, [, code]]) => [file, code])),
  };
  for (const [file, code] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), `${code}\n`);
  }
  // The folders in the configuration are those beside it.
  for (const file of ['oxlint.config.ts', 'shared/tooling/checks/lint-plugin.mjs'])
    cpSync(join(root, file), join(folder, file));
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/oxlint/bin/oxlint'), '--format', 'json', 'services'],
    {
      cwd: folder,
      env: { ...process.env, OXLINT_TSGOLINT_PATH: join(root, 'node_modules/oxlint-tsgolint/bin/tsgolint.js') },
      encoding: 'utf8',
    },
  );
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; filename: string }[] };
  const found = diagnostics
    .filter(({ code }) => code.startsWith('annals('))
    .map(({ code, filename }) => `${filename}: ${code.slice('annals('.length, -1)}`);
  expect(found.sort()).toEqual(
    Object.entries(VIOLATIONS)
      .map(([file, [rule]]) => `${file}: ${rule}`)
      .sort(),
  );
});
