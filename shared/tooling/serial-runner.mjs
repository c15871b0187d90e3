import TestRunner from 'jest-runner';

/** Runs its test files one after another: whole systems side by side would starve each other on two cores. */
export default class SerialRunner extends TestRunner {
  isSerial = true;
}
