import TestRunner from 'jest-runner';

/** Runs test files one after another, because two cores are not enough for several whole systems at once. */
// @ts-expect-error jest-runner's types describe its CommonJS exports; the default import is the class itself.
export default class SerialRunner extends TestRunner {
  isSerial = true;
}
