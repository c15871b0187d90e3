import { swcOptions } from './shared/tooling/swc-options.mjs';

const roots = ['services', 'shared', 'schemas'];
const specs = (suffix) => roots.map((root) => `<rootDir>/${root}/**/*${suffix}`);

const project = (displayName, config) => ({
  displayName,
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['@swc/jest', swcOptions] },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.annals/'],
  ...config,
});

/** @type {import('jest').Config} */
export default {
  // Long enough for a real engine on a busy machine; jest takes it from here only, not from a project.
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/shared/tooling/summary-reporter.mjs'],
  projects: [
    project('unit', {
      testMatch: specs('.spec.ts'),
      testPathIgnorePatterns: ['/node_modules/', '\\.(int|e2e)\\.spec\\.ts$'],
    }),
    project('integration', { testMatch: specs('.int.spec.ts') }),
    project('end-to-end', {
      testMatch: specs('.e2e.spec.ts'),
      runner: '<rootDir>/shared/tooling/serial-runner.mjs',
      setupFilesAfterEnv: ['<rootDir>/shared/tooling/end-to-end-setup.mjs'],
    }),
  ],
};
