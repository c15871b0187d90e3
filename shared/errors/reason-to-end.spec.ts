import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from '@jest/globals';
import { SettingsError } from '../config/load-settings.ts';
import { CannotStart } from './cannot-start.ts';
import { reasonToEnd } from './reason-to-end.ts';
import { Refusal } from './refusal.ts';

/** Returns what `work` throws as an Error of this realm: under jest, Node's errors have another `Error` class. */
const thrownBy = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    const { message } = error as Error;
    return Object.assign(new Error(message), error);
  }
  throw new Error('nothing was thrown');
};

describe('the reason to end a program', () => {
  it.each([
    ['a start that fails for an outside reason', new CannotStart('port 1 is in use'), 'port 1 is in use'],
    ['the same in several lines', new CannotStart('anvil ended:\n  no memory\n'), 'anvil ended: no memory'],
    [
      'settings',
      new SettingsError([
        { name: 'HOST', message: 'is empty' },
        { name: 'CHAINS', message: 'is not valid JSON' },
      ]),
      'HOST is empty; CHAINS is not valid JSON',
    ],
    ['a refusal', new Refusal('validation_failed', 'an origin\nis not a valid URL'), 'an origin is not a valid URL'],
    [
      'a file that does not exist',
      thrownBy(() => readFileSync('/no/such/file')),
      "ENOENT: no such file or directory, open '/no/such/file'",
    ],
    ['a thrown value that is not an error', 'nothing', 'nothing'],
  ])('is one line for %s', (_what, error, line) => {
    expect(reasonToEnd(error)).toBe(line);
  });

  it.each([
    ['a wrong argument', thrownBy(() => join(1 as unknown as string)), /must be of type string/],
    ['an invalid port', thrownBy(() => createServer().listen(70_000)), /should be >= 0/],
    ['an invalid statement', thrownBy(() => new DatabaseSync(':memory:').exec('no SQL')), /syntax error/],
    ['anything else', new Error('unthought of'), /unthought of/],
  ])('has the stack for a fault of ours: %s', (_what, error, message) => {
    expect(reasonToEnd(error)).toMatch(message);
    expect(reasonToEnd(error)).toMatch(/\n {4}at /);
  });
});
