import { Argument, InvalidArgumentError, type Command } from 'commander';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import {
  dropStored,
  modelNames,
  modelsNamed,
  rebuildStored,
  switchStored,
  type Rebuilt,
} from '../../../projector/projection-administration.ts';
import { command, print, type Json } from '../command.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { showFolding } from './show-folding.ts';
import { verifiedText } from './projection-texts.ts';

export const rebuildCommands = (): Command[] => [
  command(
    'rebuild',
    'has projectors fill a new version of a read model beside the one that is read, and compares it; Ctrl-C pauses, the same command goes on',
    'projections rebuild users',
    'projections rebuild chain-events --rate 2000',
  )
    .addArgument(oneModel())
    .option('--rate <number>', 'at most so many events per second; default: as fast as it can', positive)
    .option('--json', 'for machines')
    .action(rebuild),
  command(
    'switch',
    'makes another complete version of a read model the one that is read, in one step; repeated, the one before again',
    'projections switch users',
    'projections switch users --to v5',
  )
    .addArgument(oneModel())
    .option('--to <version>', 'as annals projections list shows it; default: the newest of the others')
    .option('--json', 'for machines')
    .action(switchTo),
  command('drop', 'removes a version of a read model that is not read', 'projections drop users --version v5')
    .addArgument(oneModel())
    .requiredOption('--version <version>', 'as annals projections list shows it')
    .option('--json', 'for machines')
    .action(drop),
];

const oneModel = (): Argument => new Argument('<name>', 'of the read model').choices(modelNames);

const positive = (text: string): number => {
  const rate = Number(text);
  if (!/^\d+$/.test(text) || rate === 0 || !Number.isSafeInteger(rate))
    throw new InvalidArgumentError('It must be a whole number of events, from 1 on.');
  return rate;
};

const rebuild = (name: string, { rate, ...options }: Json & { rate?: number }): Promise<void> =>
  withEngines(
    { names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true, changes: true },
    async (engines, settings) => {
      const masterKey = loadMasterKey(settings);
      for (const model of modelsNamed([name])) {
        await unlessInterrupted(async (signal) => {
          const report = showFolding(name);
          const rebuilt = await rebuildStored(model, { ...engines, masterKey }, { rate: rate ?? null, signal, report });
          print(options, { name, ...rebuilt }, rebuiltText(name, rebuilt));
          if (rebuilt.state === 'differs') process.exitCode = 1;
        });
      }
    },
  );

const switchTo = (name: string, { to, ...options }: Json & { to?: string }): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false, changes: true }, async (stores) => {
    for (const model of modelsNamed([name])) {
      await unlessInterrupted(async (signal) => {
        const { version, from } = await switchStored(model, to, stores, signal);
        const line =
          version === from ? `${name} ${version} is read already` : `${name} ${version} is read, no longer ${from}`;
        print(options, { name, version, from }, line);
      });
    }
  });

const drop = (name: string, { version, ...options }: Json & { version: string }): Promise<void> =>
  withEngines({ names: ['readStore'], keepsFiles: false, changes: true }, async (stores) => {
    for (const model of modelsNamed([name])) {
      await unlessInterrupted(async (signal) => {
        if (process.stderr.isTTY) process.stderr.write('waiting until no query can read it any more\n');
        await dropStored(model, version, stores, signal);
        print(options, { name, version }, `${name} ${version} is removed`);
      });
    }
  });

const rebuiltText = (name: string, { version, state, verified }: Rebuilt): string => {
  const result = {
    paused: `${name} ${version} is paused: the same command goes on, "annals projections drop ${name} --version ${version}" gives it up`,
    ready: `${name} ${version} is complete and kept up to date: "annals projections switch ${name} --to ${version}" has queries read it`,
    differs: `${name} ${version} is not what the events make of it: drop it, and report what follows`,
  }[state];
  return verified ? `${result}\n${verifiedText(verified)}` : result;
};
