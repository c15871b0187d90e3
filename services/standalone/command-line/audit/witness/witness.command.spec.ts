import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { haveFileAlone } from '../../../../../shared/host/engines/folder-locks.sqlite.ts';
import { ServedLog } from '../../../../../shared/testing/served-log.ts';
import { temporaryFolder } from '../../../../../shared/testing/temporary-folder.ts';
import {
  COSIGNATURE,
  NoteSigner,
  openNote,
  parseVkey,
  vkeyOf,
} from '../../../../../shared/transparency-log/signed-note.ts';
import { witnessCommand } from './witness.command.ts';

const folder = temporaryFolder();

interface Line {
  outcome: string;
  text: string;
  vkey?: string;
  size?: number;
}

describe('annals audit witness --once', () => {
  let log: ServedLog;
  let started = 0;
  let state: string;
  beforeEach(async () => {
    log = await ServedLog.start();
    state = join(folder, `${String((started += 1))}.state`);
  });
  afterEach(() => {
    log[Symbol.dispose]();
    process.exitCode = undefined;
  });

  /** Returns the lines after the one with the witness's own key, and the exit code. */
  const watch = async (...changes: string[]): Promise<{ lines: Line[]; vkey: string; code: unknown }> => {
    process.exitCode = undefined;
    const files = ['--key-file', join(folder, 'witness.key'), '--state', state];
    const args = ['--log', log.url, '--log-key', vkeyOf(log.signer.key), ...files, '--once', '--json', ...changes];
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await witnessCommand().exitOverride().parseAsync(args, { from: 'user' });
      const [first, ...lines] = write.mock.calls.map(([text]) => JSON.parse(String(text)) as Line);
      return { lines, vkey: first?.vkey ?? '', code: process.exitCode };
    } finally {
      write.mockRestore();
    }
  };

  it('cosigns, and keeps what it has cosigned', async () => {
    log.hold(['a', 'b', 'c']);
    const { lines, vkey, code } = await watch();
    expect([lines, code]).toEqual([[expect.objectContaining({ outcome: 'cosigned', size: 3 })], undefined]);
    expect(openNote(readFileSync(state, 'utf8'), parseVkey(vkey))?.time).toBeGreaterThan(1_700_000_000);
    expect((await watch()).lines).toMatchObject([{ outcome: 'unchanged' }]);
    log.hold(['a', 'b', 'c', 'd']);
    expect(await watch()).toMatchObject({ lines: [{ outcome: 'cosigned', size: 4 }], vkey, code: undefined });
  });

  it('ends at a fork, and keeps what it has cosigned before', async () => {
    log.hold(['a', 'b', 'c']);
    await watch();
    const before = readFileSync(state, 'utf8');
    log.hold(['a', 'changed', 'c', 'd']);
    for (const _ of [1, 2]) {
      const { lines, code } = await watch();
      expect([lines.map(({ outcome }) => outcome), code]).toEqual([['fork'], 1]);
      expect(lines[0]?.text).toMatch(/^fork: log\.example\/log has signed 3 leaves .* and 4 leaves /);
    }
    expect(readFileSync(state, 'utf8')).toBe(before);
    expect(readFileSync(`${state}.fork`, 'utf8')).toMatch(/^log\.example\/log\n4\n/);
  });

  it('cosigns nothing of a log that does not answer, or answers something else', async () => {
    log.sign('no checkpoint\n');
    expect(await watch()).toMatchObject({ lines: [{ outcome: 'refused' }], code: 1 });
    log[Symbol.dispose]();
    expect(await watch()).toMatchObject({ lines: [{ outcome: 'refused' }], code: 1 });
    expect(existsSync(state)).toBe(false);
  });

  it.each([
    ['a key that is none', ['--log-key', 'log.example/log+00000000+AAAA']],
    ["a witness's key", ['--log-key', vkeyOf(new NoteSigner('log.example/log', Buffer.alloc(32), COSIGNATURE).key)]],
    ['an address without a scheme', ['--log', 'account.example/log']],
    ['an address that does not end in /log', ['--log', 'https://account.example/log/']],
    ['a port beside --once', ['--port', '4300']],
    ['a port that is none', ['--port', '65536']],
  ])('refuses %s', async (_, args) => {
    await expect(watch(...args)).rejects.toMatchObject({ name: 'WrongArguments' });
  });

  it('refuses a state that was changed, and one that another witness has', async () => {
    log.hold(['a']);
    await watch();
    const release = haveFileAlone(`${state}.lock`, state);
    await expect(watch()).rejects.toThrow(`${state} is in use by another process`);
    release();
    writeFileSync(state, readFileSync(state, 'utf8').replace('\n1\n', '\n2\n'));
    await expect(watch()).rejects.toThrow(`${state} cannot be used: the signature by`);
  });
});
