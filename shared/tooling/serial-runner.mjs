import TestRunner from 'jest-runner';

/** Runs its test files one after another: whole systems side by side would starve each other on two cores. */
// @ts-expect-error jest-runner's types describe its CommonJS face; what is imported is the class itself.
export default class SerialRunner extends TestRunner {
  isSerial = true;
}
