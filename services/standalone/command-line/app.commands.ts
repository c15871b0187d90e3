import { Command, Option } from 'commander';
import { signatureScheme, type SignatureScheme } from '../../../schemas/events/app-events.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import { closeEngines, isEmbedded, openEngines, useDataFolder } from '../../../shared/host/engines.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { appAdministration, type AppAdministration } from '../../account/app-administration.ts';

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
        .description('registers an app and shows its signing key once; it can log in at once, also on a running start')
        .requiredOption('--name <name>', 'what operators call it')
        .requiredOption('--origin <origin>', 'the origin of its pages; may be given several times', collect, [])
        .option('--redirect-uri <uri>', 'where logins may return to; may be given several times', collect, [])
        .addOption(
          new Option('--scheme <scheme>', 'v2 requires signatures over the whole request')
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
  const registered = await withApps((apps) => apps.list());
  if (json) process.stdout.write(`${JSON.stringify(registered)}\n`);
  else if (registered.length === 0) process.stdout.write('no apps; register one with: annals app create\n');
  else
    process.stdout.write(
      registered.map(({ id, name, apiKey, origins }) => `${id}  ${apiKey}  ${name}  ${origins.join(', ')}\n`).join(''),
    );
};

const STORES = ['eventStore', 'readStore'] as const;

const withApps = async <Result>(work: (apps: AppAdministration) => Promise<Result>): Promise<Result> => {
  const { settings } = loadSettings(process.env, {});
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  try {
    if (STORES.some((name) => isEmbedded(name, settings))) useDataFolder({ settings, shutdown });
    const engines = await openEngines(settings, logger, STORES);
    shutdown.add('engines', () => closeEngines(engines));
    return await work(appAdministration({ ...engines, settings, clock: systemClock, ids: systemIds }));
  } finally {
    await shutdown.run();
  }
};
