import { Command, Option } from 'commander';
import { signatureScheme, type SignatureScheme } from '../../../schemas/events/app-events.ts';
import type { App, AppChange } from '../../account/app-administration.ts';
import { appPolicyCommand, appSponsorshipCommand } from './app-sponsorship.commands.ts';
import { appServerKeyCommand } from './app-server-key.commands.ts';
import { changeApps, readApps } from './with-apps.ts';

interface CreateOptions {
  name: string;
  origin: string[];
  redirectUri: string[];
  scheme: SignatureScheme;
  thirdParty?: boolean;
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
        .option(
          '--third-party',
          "somebody else's: its sessions only change profiles and send what its own policy pays for",
        )
        .option('--json', 'for machines')
        .addHelpText('after', '\nExample:\n  annals app create --name Shop --origin https://shop.example --json')
        .action(create),
    )
    .addCommand(
      new Command('list')
        .description('every app, oldest first')
        .option('--json', 'for machines')
        .addHelpText('after', example('list --json'))
        .action(list),
    )
    .addCommand(
      ofApp(
        'rotate',
        'gives an app a new signing key and shows it once; the newest one stays valid until the next rotation',
      )
        .addHelpText('after', example('rotate app_0123456789abcdefghjkmnpqrs --json'))
        .action(rotate),
    )
    .addCommand(
      ofApp('revoke', 'ends an app for good: within 2 s its requests and the tokens of its sessions are refused')
        .addHelpText('after', example('revoke app_0123456789abcdefghjkmnpqrs'))
        .action(change(() => ({ revoke: true }))),
    )
    .addCommand(
      ofApp('allow-origin', 'lets an app be used from the pages of another origin too')
        .argument('<origin>', 'scheme, host and port')
        .addHelpText('after', example('allow-origin app_0123456789abcdefghjkmnpqrs https://shop.example'))
        .action(change((origin) => ({ allowOrigin: origin }))),
    )
    .addCommand(
      ofApp('allow-redirect', 'lets logins of an app return to another address too')
        .argument('<redirect URI>', 'compared letter by letter')
        .addHelpText('after', example('allow-redirect app_0123456789abcdefghjkmnpqrs https://shop.example/callback'))
        .action(change((uri) => ({ allowRedirect: uri }))),
    )
    .addCommand(
      ofApp('allow-bot', 'lets the bot of an app log in messenger users: it speaks for every one of them')
        .addHelpText('after', example('allow-bot app_0123456789abcdefghjkmnpqrs'))
        .action(change(() => ({ allowBot: true }))),
    )
    .addCommand(trustCommand())
    .addCommand(distrustCommand())
    .addCommand(appServerKeyCommand())
    .addCommand(appPolicyCommand())
    .addCommand(appSponsorshipCommand());

const trustCommand = (): Command =>
  ofApp('trust', 'lets sessions of an app link, unlink, erase, end other sessions, and send what no policy pays for')
    .addHelpText('after', example('trust app_0123456789abcdefghjkmnpqrs'))
    .action(change(() => ({ trust: true })));

const distrustCommand = (): Command =>
  ofApp('distrust', "makes an app one of somebody else's, as create --third-party does; in effect within 2 s")
    .addHelpText('after', example('distrust app_0123456789abcdefghjkmnpqrs'))
    .action(change(() => ({ trust: false })));

const ofApp = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .argument('<app id>', 'as annals app list shows it')
    .option('--json', 'for machines');

const example = (line: string): string => `\nExample:\n  annals app ${line}`;

const create = async ({
  name,
  origin,
  redirectUri,
  scheme,
  thirdParty = false,
  json,
}: CreateOptions): Promise<void> => {
  const asked = { name, origins: origin, redirectUris: redirectUri, scheme, isThirdParty: thirdParty };
  const app = await changeApps((apps) => apps.register(asked));
  if (json) {
    process.stdout.write(`${JSON.stringify(app)}\n`);
    return;
  }
  process.stdout.write(
    `id            ${app.id}\nAPI key       ${app.apiKey}\nsigning key   ${app.signingKey}   (shown once: keep it)\norigins       ${app.origins.join(', ')}\n`,
  );
};

const list = async ({ json }: { json?: boolean }): Promise<void> => {
  const registered = await readApps((apps) => apps.list());
  if (json) process.stdout.write(`${JSON.stringify(registered)}\n`);
  else if (registered.length === 0) process.stdout.write('no apps; register one with: annals app create\n');
  else process.stdout.write(registered.map(toLine).join(''));
};

const rotate = async (id: string, { json }: { json?: boolean }): Promise<void> => {
  const { app, newKey: signingKey } = await changeApps((apps) => apps.rotate(id));
  const { apiKey } = app;
  process.stdout.write(
    json
      ? `${JSON.stringify({ id, apiKey, signingKey })}\n`
      : `id            ${id}\nAPI key       ${apiKey}\nsigning key   ${signingKey}   (shown once: keep it)\n`,
  );
};

/** Makes the action of a command that changes an app, and shows the app. `value` is its second argument, if it has one. */
const change =
  (toChange: (value: string) => AppChange) =>
  async (id: string, ...rest: unknown[]): Promise<void> => {
    const value = typeof rest[0] === 'string' ? rest[0] : '';
    const { json } = (value === '' ? rest[0] : rest[1]) as { json?: boolean };
    const app = await changeApps((apps) => apps.change(id, toChange(value)));
    process.stdout.write(json ? `${JSON.stringify(app)}\n` : toLine(app));
  };

const toLine = ({ id, name, apiKey, origins, isRevoked, isThirdParty }: App): string =>
  `${id}  ${apiKey}  ${name}  ${isRevoked ? 'revoked' : origins.join(', ')}${isThirdParty ? '  third party' : ''}\n`;
