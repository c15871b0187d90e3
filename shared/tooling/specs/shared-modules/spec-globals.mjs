import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

// What `@jest/globals` is to specs that share modules.

/** @typedef {Omit<typeof import('@jest/globals'), 'jest'>} Globals */

/** @type {Globals | undefined} */
let ofFile;

/**
 * @param {Globals} globals those of the spec file that is loaded and run next
 */
export const setGlobals = (globals) => {
  ofFile = globals;
};

/**
 * A function of the spec file that is run now: the module that calls it may have been loaded for another file.
 * @template {keyof Globals} Name
 * @param {Name} name
 * @returns {Globals[Name]}
 */
const current = (name) => {
  const target = () => {
    if (!ofFile) throw new Error(`${name} is called while jest runs no spec file`);
    return ofFile[name];
  };
  return /** @type {Globals[Name]} */ (
    /** @type {unknown} */ (
      new Proxy(() => undefined, {
        apply: (_, self, args) => Reflect.apply(/** @type {(...args: unknown[]) => unknown} */ (target()), self, args),
        get: (_, member) => Reflect.get(target(), member),
      })
    )
  );
};

export const expect = current('expect');
export const it = current('it');
export const describe = current('describe');
export const beforeAll = current('beforeAll');
export const beforeEach = current('beforeEach');
export const afterAll = current('afterAll');
export const afterEach = current('afterEach');

const mocker = new ModuleMocker(globalThis);
/** All that fake timers read of a project. */
const config = /** @type {ConstructorParameters<typeof ModernFakeTimers>[0]['config']} */ ({
  fakeTimers: {},
  rootDir: '/',
});
const timers = new ModernFakeTimers({ config, global: globalThis });

/** Where jest-circus looks for the time limit of a file. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

export const jest = {
  /** @param {number} ms */
  setTimeout: (ms) => Reflect.set(globalThis, TEST_TIMEOUT, ms),
  spyOn: mocker.spyOn.bind(mocker),
  replaceProperty: mocker.replaceProperty.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  useFakeTimers: timers.useFakeTimers.bind(timers),
  useRealTimers: timers.useRealTimers.bind(timers),
  setSystemTime: timers.setSystemTime.bind(timers),
  advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
  advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
};

/** Undoes what a spec file left of its spies, its clock and its time limit. */
export const restoreGlobals = () => {
  Reflect.deleteProperty(globalThis, TEST_TIMEOUT);
  jest.restoreAllMocks();
  jest.useRealTimers();
};
