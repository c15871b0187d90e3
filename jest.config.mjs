import { rerunPlainJest } from './shared/tooling/specs/rerun-jest.mjs';

await rerunPlainJest();

const roots = ['deploy', 'schemas', 'services', 'shared'];

/**
 * @param {string} displayName
 * @param {string} suffix
 * @param {string[]} testPathIgnorePatterns
 */
const project = (displayName, suffix, testPathIgnorePatterns = ['/node_modules/']) => ({
  displayName,
  testMatch: roots.map((root) => `<rootDir>/${root}/**/*${suffix}`),
  testPathIgnorePatterns,
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.annals/'],
  // jest would load all modules anew for each spec file, which takes more of the processor than most specs do.
  testRunner: '<rootDir>/shared/tooling/specs/shared-modules/run-spec-file.mjs',
});

export default {
  // On two cores jest would take one, its own process: most specs wait more than they work.
  maxWorkers: 2,
  // A worker keeps what its specs have left in memory: one that has so much gives way to a new one.
  workerIdleMemoryLimit: '1500MB',
  // Longer than `eventually` waits on a busy machine, so that it is a wait that fails, and says for what; jest takes it from
  // here only, not from a project. One test may start a whole system, fill it with events, kill it and start it again.
  testTimeout: 240_000,
  // Of those in one file: more of them would wait for a core, not for what they are about.
  maxConcurrency: 3,
  reporters: ['default', '<rootDir>/shared/tooling/specs/summary-reporter.mjs'],
  projects: [
    project('unit', '.spec.ts', ['/node_modules/', '\\.(int|e2e|long)\\.spec\\.ts$']),
    project('integration', '.int.spec.ts'),
    project('end-to-end', '.e2e.spec.ts'),
    project('long', '.long.spec.ts'),
  ],
};
