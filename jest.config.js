import { swcOptions } from './shared/tooling/swc-options.js';

const roots = ['services', 'shared', 'schemas'];

/**
 * @param {string} displayName
 * @param {Partial<import('jest').Config>} config
 */
const project = (displayName, config) => ({
  displayName,
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', swcOptions] },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.annals/'],
  ...config,
});

const unit = roots.map((root) => `<rootDir>/${root}/**/*.spec.ts`);
const not = (...kinds) => kinds.map((kind) => `\\.${kind}\\.spec\\.ts$`);

export default {
  projects: [
    project('unit', { testMatch: unit, testPathIgnorePatterns: ['/node_modules/', ...not('int', 'e2e')] }),
    project('integration', {
      testMatch: roots.map((root) => `<rootDir>/${root}/**/*.int.spec.ts`),
      testTimeout: 30_000,
    }),
    project('end to end', {
      testMatch: roots.map((root) => `<rootDir>/${root}/**/*.e2e.spec.ts`),
      testTimeout: 120_000,
      runner: '<rootDir>/shared/tooling/serial-runner.js',
    }),
  ],
};
