import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { runCommandLine } from './run-command-line.ts';
import { WrongArguments } from './wrong-arguments.ts';

const program = (): Command =>
  new Command('annals').addCommand(
    new Command('app').addCommand(
      new Command('create').requiredOption('--name <name>', 'its name').action(({ name }: { name: string }) => {
        if (name === 'taken') throw new CannotStart('the name is taken');
        if (name === 'odd') throw new WrongArguments('the name is odd');
      }),
    ),
  );

/** Runs a command as a process would. Returns the exit code and output. */
const run = async (...args: string[]) => {
  const before = process.exitCode;
  const umask = process.umask(0o077);
  const [stdout, stderr] = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockReturnValue(true),
  );
  try {
    process.exitCode = 0;
    await runCommandLine(program(), args);
    const textOf = (spy: typeof stdout) => spy?.mock.calls.map(([text]) => String(text)).join('') ?? '';
    return { code: process.exitCode, stdout: textOf(stdout), stderr: textOf(stderr) };
  } finally {
    process.exitCode = before;
    // The command line makes the files of its process private: restore that for the next spec.
    process.umask(umask);
  }
};

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a command line', () => {
  it('exits with 0 when it worked, or printed its help', async () => {
    expect(await run('app', 'create', '--name', 'Shop')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run('app', '--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('create') });
  });

  it('exits with 1 when it did not work, and says why', async () => {
    expect(await run('app', 'create', '--name', 'taken')).toMatchObject({
      ...{ code: 1, stderr: 'annals: the name is taken\n' },
    });
  });

  it.each([
    [['app', 'create'], /required option '--name <name>' not specified/],
    [['app', 'create', '--name', 'Shop', '--colour', 'red'], /unknown option '--colour'/],
    [['app', 'create', '--name', 'odd'], /^annals: the name is odd\n$/],
    [['ap'], /unknown command 'ap'\n\(Did you mean app\?\)/],
    [['ap', '--help'], /unknown command 'ap'/],
    [['app', 'creat', '-h'], /unknown command 'creat'/],
    [['app'], /Usage: annals app/],
  ])('exits with 2 when its arguments are wrong, and says what is right: %j', async (args, says) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });
});
