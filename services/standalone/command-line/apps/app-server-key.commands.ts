import type { Command } from 'commander';
import { anAddress } from '../chains/chain-arguments.ts';
import { command, print, type Json } from '../command.ts';
import { APP_ID, changeApps, ofApp } from './with-apps.ts';

export const appServerKeyCommand = (): Command =>
  command(
    'server-key',
    'keys by which an app acts for itself; they belong on its server, and never in a browser',
    `app server-key create ${APP_ID}`,
  )
    .addCommand(
      ofApp(
        'server-key create',
        'gives an app a server key and shows it once; the newest one before it stays valid beside it',
        ' --json',
      ).action(create),
    )
    .addCommand(
      command(
        'revoke',
        'ends the server keys of an app: within 2 s the tokens that they signed for are refused',
        `app server-key revoke ${APP_ID}`,
      )
        .argument('<app id>', 'as annals app list shows it')
        .option('--address <address>', 'of the only key to end, as create showed it', anAddress)
        .option('--json', 'for machines')
        .action(revoke),
    );

const create = async (id: string, options: Json): Promise<void> => {
  const { app, newKey: serverKey } = await changeApps((apps) => apps.createServerKey(id));
  const { apiKey, serverSigners } = app;
  const [address = ''] = serverSigners;
  print(
    options,
    { id, apiKey, serverKey, address },
    `id            ${id}\nAPI key       ${apiKey}\nserver key    ${serverKey}   (shown once: keep it on the server)\naddress       ${address}`,
  );
};

const revoke = async (id: string, { address, ...options }: Json & { address?: string }): Promise<void> => {
  const { serverSigners } = await changeApps((apps) => apps.change(id, { revokeServerKey: address }));
  const left = serverSigners.length === 0 ? 'no server key is left' : `left: ${serverSigners.join(', ')}`;
  print(options, { id, serverSigners }, `${id}  ${left}`);
};
