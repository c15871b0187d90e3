import { swcOptions } from './shared/tooling/swc-options.mjs';

const roots = ['deploy', 'schemas', 'services', 'shared'];

/** @param {string} suffix */
const specs = (suffix) => roots.map((root) => `<rootDir>/${root}/**/*${suffix}`);

/** @param {Partial<import('jest').Config> & { displayName: string }} config */
export const project = (config) => ({
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', swcOptions] },
  setupFilesAfterEnv: ['<rootDir>/shared/tooling/retries-setup.mjs'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.annals/'],
  ...config,
});

/** @param {Parameters<typeof project>[0]} config */
const wholeSystem = (config) =>
  project({
    setupFilesAfterEnv: ['retries', 'whole-system'].map((name) => `<rootDir>/shared/tooling/${name}-setup.mjs`),
    ...config,
  });

export default {
  // On two cores jest would take one, its own process: most specs wait more than they work.
  maxWorkers: 2,
  // Modules of each spec file stay in the memory of its worker, as jest loads them: one that has so much gives way to a new one.
  workerIdleMemoryLimit: '1500MB',
  // Long enough for what takes 30 s on a busy machine, so that it is a wait that fails, and says for what; jest takes it from
  // here only, not from a project.
  testTimeout: 120_000,
  // Of those in one file: more of them would wait for a core, not for what they are about.
  maxConcurrency: 3,
  reporters: ['default', '<rootDir>/shared/tooling/summary-reporter.mjs'],
  projects: [
    project({
      displayName: 'unit',
      testMatch: specs('.spec.ts'),
      testPathIgnorePatterns: ['/node_modules/', '\\.(int|e2e|long)\\.spec\\.ts$'],
    }),
    project({ displayName: 'integration', testMatch: specs('.int.spec.ts') }),
    wholeSystem({ displayName: 'end-to-end', testMatch: specs('.e2e.spec.ts') }),
    wholeSystem({ displayName: 'long', testMatch: specs('.long.spec.ts') }),
  ],
};
