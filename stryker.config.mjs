import { fileURLToPath } from 'node:url';
import { pureFiles, specsOf } from './shared/tooling/mutants/pure-files.mjs';
import { swcOptions } from './shared/tooling/typescript/swc-options.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));
const files = pureFiles(root);

export default {
  mutate: files,
  ignorePatterns: ['/.annals', '/.ci', '/coverage', '/dist', '/schemas/generated', '/services/standalone'],
  plugins: ['@stryker-mutator/jest-runner'],
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: {
    configFile: 'jest.config.mjs',
    config: {
      displayName: 'mutants',
      testMatch: specsOf(root, files).map((spec) => `<rootDir>/${spec}`),
      setupFiles: ['<rootDir>/shared/tooling/mutants/mutants-setup.mjs'],
      roots: ['<rootDir>/schemas', '<rootDir>/services', '<rootDir>/shared'],
      // By jest's own runtime, which Stryker tells which mutant is active.
      extensionsToTreatAsEsm: ['.ts'],
      transform: { '\\.ts$': ['@swc/jest', swcOptions] },
      projects: [],
      // Goes with the copy of the sources: no other run has its paths, so none could use it.
      cacheDirectory: '<rootDir>/.jest-cache',
      watchman: false,
    },
  },
  coverageAnalysis: 'perTest',
  // What runs once, as its file is loaded: each such fault would need a process of its own.
  ignoreStatic: true,
  concurrency: 2,
  // Jest keeps some megabytes of every run.
  maxTestRunnerReuse: 200,
  disableTypeChecks: false,
  cleanTempDir: 'always',
  logLevel: 'error',
};
