import { Argument, type Command } from 'commander';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import {
  listVersions,
  modelNames,
  modelsNamed,
  statusOfVersions,
  verifyStored,
  type VerifiedModel,
} from '../../../projector/projection-administration.ts';
import { command, print, type Json } from '../command.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { withEngines } from '../with-engines.ts';
import { showFolding } from './show-folding.ts';
import { rebuildCommands } from './rebuild.commands.ts';
import { listText, statusText, verifiedText } from './projection-texts.ts';

export const projectionsCommand = (): Command => {
  const projections = command('projections', 'the read models, which projectors make of the events')
    .addCommand(
      command('list', 'every stored version of every read model, with its size', 'projections list --json')
        .option('--json', 'for machines')
        .action(list),
    )
    .addCommand(
      command(
        'status',
        'whether processes keep the read models up to date; ends with exit code 1 if one is not',
        'projections status',
        'projections status users chain-events --json',
      )
        .addArgument(someModels())
        .option('--json', 'for machines')
        .action(status),
    )
    .addCommand(
      command(
        'verify',
        'compares read models, while they are in use, with what all events make of them; ends with exit code 1 while a difference stands',
        'projections verify',
        'projections verify users --repair',
      )
        .addArgument(someModels())
        .option('--repair', 'rewrites the documents that differ, and no other')
        .option('--json', 'for machines')
        .action(verify),
    );
  for (const one of rebuildCommands()) projections.addCommand(one);
  return projections;
};

const someModels = (): Argument => new Argument('[names...]', 'default: all').choices(modelNames);

const list = (options: Json): Promise<void> =>
  withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, async (stores) => {
    const versions = await listVersions(stores);
    print(options, versions, listText(versions));
  });

const status = (names: string[], options: Json): Promise<void> => {
  const models = modelsNamed(names).map(({ name }) => name);
  return withEngines({ names: ['eventStore', 'readStore'], keepsFiles: false }, (stores) =>
    unlessInterrupted(async (signal) => {
      const statuses = await statusOfVersions(models, stores, signal);
      print(options, statuses, statusText(statuses));
      if (!statuses.every(({ followed, caughtUp }) => followed && caughtUp)) process.exitCode = 1;
    }),
  );
};

const verify = (names: string[], { repair = false, ...options }: Json & { repair?: boolean }): Promise<void> => {
  const models = modelsNamed(names);
  return withEngines(
    { names: ['eventStore', 'readStore', 'keyVault'], keepsFiles: true, changes: repair },
    (engines, settings) =>
      unlessInterrupted(async (signal) => {
        const masterKey = loadMasterKey(settings);
        const verified: VerifiedModel[] = [];
        for (const model of models) {
          const one = await verifyStored(
            model,
            { ...engines, masterKey },
            { repair, signal, report: showFolding(model.name) },
          );
          if (!options.json) print(options, one, verifiedText(one));
          verified.push(one);
        }
        if (options.json) print(options, verified, '');
        if (verified.some(({ differences }) => differences.length > 0)) process.exitCode = 1;
      }),
  );
};
