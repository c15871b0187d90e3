import { Command } from 'commander';
import { anAddress } from './chain-arguments.ts';
import { changeApps } from './with-apps.ts';

const EXAMPLE_ID = 'app_0123456789abcdefghjkmnpqrs';

export const appServerKeyCommand = (): Command =>
  new Command('server-key')
    .description('keys by which an app acts for itself; they belong on its server, and never in a browser')
    .addHelpText('after', `\nExample:\n  annals app server-key create ${EXAMPLE_ID}`)
    .addCommand(
      new Command('create')
        .description('gives an app a server key and shows it once; the newest one before it stays valid beside it')
        .argument('<app id>', 'as annals app list shows it')
        .option('--json', 'for machines')
        .addHelpText('after', `\nExample:\n  annals app server-key create ${EXAMPLE_ID} --json`)
        .action(create),
    )
    .addCommand(
      new Command('revoke')
        .description('ends the server keys of an app: within 2 s the tokens that they signed for are refused')
        .argument('<app id>', 'as annals app list shows it')
        .option('--address <address>', 'of the only key to end, as create showed it', anAddress)
        .option('--json', 'for machines')
        .addHelpText('after', `\nExample:\n  annals app server-key revoke ${EXAMPLE_ID}`)
        .action(revoke),
    );

const create = async (id: string, { json }: { json?: boolean }): Promise<void> => {
  const { app, newKey: serverKey } = await changeApps((apps) => apps.createServerKey(id));
  const { apiKey, serverSigners } = app;
  const [address = ''] = serverSigners;
  process.stdout.write(
    json
      ? `${JSON.stringify({ id, apiKey, serverKey, address })}\n`
      : `id            ${id}\nAPI key       ${apiKey}\nserver key    ${serverKey}   (shown once: keep it on the server)\naddress       ${address}\n`,
  );
};

const revoke = async (id: string, { address, json }: { address?: string; json?: boolean }): Promise<void> => {
  const { serverSigners } = await changeApps((apps) => apps.change(id, { revokeServerKey: address }));
  const left = serverSigners.length === 0 ? 'no server key is left' : `left: ${serverSigners.join(', ')}`;
  process.stdout.write(json ? `${JSON.stringify({ id, serverSigners })}\n` : `${id}  ${left}\n`);
};
