import { Option, type Command } from 'commander';
import { signatureScheme, type SignatureScheme } from '../../../../schemas/events/account/app-events.ts';
import type { App, AppChange } from '../../../account/app-administration.ts';
import { appPolicyCommand, appSponsorshipCommand } from './app-sponsorship.commands.ts';
import { appServerKeyCommand } from './app-server-key.commands.ts';
import { command, print, type Json } from '../command.ts';
import { changeApps, ofApp, readApps } from './with-apps.ts';

interface CreateOptions extends Json {
  name: string;
  origin: string[];
  redirectUri: string[];
  scheme: SignatureScheme;
  thirdParty?: boolean;
}

const collect = (value: string, before: string[]): string[] => [...before, value];

export const appCommand = (): Command =>
  command('app', 'apps: who may sign people in')
    .addCommand(
      command(
        'create',
        'registers an app and shows its signing key once; it can log in at once, also on a running start',
        'app create --name Shop --origin https://shop.example --json',
      )
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
        .action(create),
    )
    .addCommand(
      command('list', 'every app, oldest first', 'app list --json').option('--json', 'for machines').action(list),
    )
    .addCommand(
      ofApp(
        'rotate',
        'gives an app a new signing key and shows it once; the newest one stays valid until the next rotation',
        ' --json',
      ).action(rotate),
    )
    .addCommand(
      ofApp(
        'revoke',
        'ends an app for good: within 2 s its requests and the tokens of its sessions are refused',
      ).action(change(() => ({ revoke: true }))),
    )
    .addCommand(
      ofApp('allow-origin', 'lets an app be used from the pages of another origin too', ' https://shop.example')
        .argument('<origin>', 'scheme, host and port')
        .action(change((origin) => ({ allowOrigin: origin }))),
    )
    .addCommand(
      ofApp('allow-redirect', 'lets logins of an app return to another address too', ' https://shop.example/callback')
        .argument('<redirect URI>', 'compared letter by letter')
        .action(change((uri) => ({ allowRedirect: uri }))),
    )
    .addCommand(
      ofApp('allow-bot', 'lets the bot of an app log in messenger users: it speaks for every one of them').action(
        change(() => ({ allowBot: true })),
      ),
    )
    .addCommand(setRpIdCommand())
    .addCommand(trustCommand())
    .addCommand(distrustCommand())
    .addCommand(appServerKeyCommand())
    .addCommand(appPolicyCommand())
    .addCommand(appSponsorshipCommand());

const setRpIdCommand = (): Command =>
  ofApp(
    'set-rp-id',
    'makes passkeys of an app for this hostname and its subdomains; those made for another log in no more',
    ' shop.example',
  )
    .argument('<rp id>', 'the hostname of an origin of the app, or one that it is a subdomain of')
    .action(change((rpId) => ({ rpId })));

const trustCommand = (): Command =>
  ofApp(
    'trust',
    'lets sessions of an app link, unlink, erase, end other sessions, and send what no policy pays for',
  ).action(change(() => ({ trust: true })));

const distrustCommand = (): Command =>
  ofApp('distrust', "makes an app one of somebody else's, as create --third-party does; in effect within 2 s").action(
    change(() => ({ trust: false })),
  );

const create = async (options: CreateOptions): Promise<void> => {
  const { name, origin, redirectUri, scheme, thirdParty = false } = options;
  const asked = { name, origins: origin, redirectUris: redirectUri, scheme, isThirdParty: thirdParty };
  const app = await changeApps((apps) => apps.register(asked));
  print(
    options,
    app,
    `id            ${app.id}\nAPI key       ${app.apiKey}\nsigning key   ${app.signingKey}   (shown once: keep it)\norigins       ${app.origins.join(', ')}`,
  );
};

const list = async (options: Json): Promise<void> => {
  const registered = await readApps((apps) => apps.list());
  const none = 'no apps; register one with: annals app create';
  print(options, registered, registered.map(toLine).join('\n') || none);
};

const rotate = async (id: string, options: Json): Promise<void> => {
  const { app, newKey: signingKey } = await changeApps((apps) => apps.rotate(id));
  const { apiKey } = app;
  print(
    options,
    { id, apiKey, signingKey },
    `id            ${id}\nAPI key       ${apiKey}\nsigning key   ${signingKey}   (shown once: keep it)`,
  );
};

/**
 * Makes the action of a command that changes an app and shows the result. `value` is the command's second argument, if
 * any.
 */
const change =
  (toChange: (value: string) => AppChange) =>
  async (id: string, ...rest: unknown[]): Promise<void> => {
    const value = typeof rest[0] === 'string' ? rest[0] : '';
    const options = (value === '' ? rest[0] : rest[1]) as Json;
    const app = await changeApps((apps) => apps.change(id, toChange(value)));
    print(options, app, toLine(app));
  };

const toLine = ({ id, name, apiKey, origins, isRevoked, isThirdParty }: App): string =>
  `${id}  ${apiKey}  ${name}  ${isRevoked ? 'revoked' : origins.join(', ')}${isThirdParty ? '  third party' : ''}`;
