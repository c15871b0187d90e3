import { Command, Option } from 'commander';
import { signatureScheme, type SignatureScheme } from '../../../schemas/events/app-events.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, isEmbedded, openEngines } from '../../../shared/host/engines.ts';
import { requireWritable } from '../../../shared/host/preflight.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { operateApps, type OperatedApps } from '../../account/apps.module.ts';

interface CreateOptions {
  name: string;
  origin: string[];
  redirectUri: string[];
  scheme: SignatureScheme;
  json?: boolean;
}

const collect = (value: string, before: string[]): string[] => [...before, value];

export const appCommand = (): Command =>
  new Command('app')
    .description('apps: who may sign people in')
    .addCommand(
      new Command('create')
        .description('makes an app and shows its signing key, once; it can log in at once, beside a running start too')
        .requiredOption('--name <name>', 'what operators call it')
        .requiredOption('--origin <origin>', 'where its pages come from; may be given several times', collect, [])
        .option('--redirect-uri <uri>', 'where logins may return to; may be given several times', collect, [])
        .addOption(
          new Option('--scheme <scheme>', 'v2 demands signatures over the whole request')
            .choices(signatureScheme.options)
            .default('v1'),
        )
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals app create --name Shop --origin https://shop.example --json')
        .action(create),
    )
    .addCommand(
      new Command('list').description('every app, oldest first').option('--json', 'for machines').action(list),
    );

const create = async ({ name, origin, redirectUri, scheme, json }: CreateOptions): Promise<void> => {
  const app = await withApps((apps) => apps.register({ name, origins: origin, redirectUris: redirectUri, scheme }));
  if (json) {
    process.stdout.write(`${JSON.stringify(app)}\n`);
    return;
  }
  process.stdout.write(
    `id            ${app.id}\nAPI key       ${app.apiKey}\nsigning key   ${app.signingKey}   (shown once: keep it)\norigins       ${app.origins.join(', ')}\n`,
  );
};

const list = async ({ json }: { json?: boolean }): Promise<void> => {
  const apps = await withApps((operated) => operated.list());
  if (json) process.stdout.write(`${JSON.stringify(apps)}\n`);
  else if (apps.length === 0) process.stdout.write('no apps; make one with: annals app create\n');
  else
    process.stdout.write(
      apps.map(({ id, name, apiKey, origins }) => `${id}  ${apiKey}  ${name}  ${origins.join(', ')}\n`).join(''),
    );
};

const withApps = async <Result>(work: (apps: OperatedApps) => Promise<Result>): Promise<Result> => {
  const { settings } = loadSettings(process.env, {});
  if (isEmbedded('eventStore', settings)) requireWritable(settings.DATA_DIR);
  const engines = await openEngines(settings, createLogger(settings), ['eventStore']);
  try {
    return await work(operateApps({ ...engines, clock: systemClock, ids: systemIds }));
  } finally {
    await closeEngines(engines);
  }
};
