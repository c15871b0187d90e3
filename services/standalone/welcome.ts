import { resolve } from 'node:path';
import { maskUrl } from '../../shared/config/mask-url.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { servesDocs } from '../../shared/documents/docs-page.ts';
import type { Standalone } from './standalone.ts';

/** The text that `npm start` prints when it is ready: addresses, credentials and what to do next. */
export const welcome = (
  { accountUrl, eventUrl, streamUrl, isReady, development }: Standalone,
  settings: Settings,
  tookMs: number,
): string => {
  const withDocs = (url: string): string => (servesDocs(settings) ? `${url}   (${url}/docs)` : url);
  const lines = [
    ['account', withDocs(accountUrl)],
    ['event catcher', withDocs(eventUrl)],
    ['stream', withDocs(streamUrl)],
    ...(development
      ? [
          ['chain', `${maskUrl(development.rpcUrl)}   (id ${String(development.chainId)})`],
          ...(development.token ? [['token', development.token.address]] : []),
          ['mailbox', development.mailboxUrl],
          ['API key', development.app.apiKey],
          ['signing key', development.app.signingKey],
          ['origin', development.app.origin],
        ]
      : []),
    ['data', resolve(settings.DATA_DIR)],
  ];
  const table = lines.map(([name = '', value = '']) => `  ${name.padEnd(14)} ${value}\n`).join('');
  // The demo and the command line must be told of another folder.
  const folder = settings.DATA_DIR === '.annals' ? '' : `DATA_DIR=${settings.DATA_DIR} `;
  const next = development
    ? `
  next           ${`${folder}npm run demo`.padEnd(41)} in a second terminal
                 ${`${folder}./annals app create --help`.padEnd(41)} an app of your own
                 Ctrl-C to stop; npm start continues with the same data, npm start -- --fresh with none
`
    : '';
  const state = isReady
    ? `ready in ${(tookMs / 1_000).toFixed(1)} s.`
    : `and is not ready yet: ${accountUrl}/health/ready says why.`;
  return `\nAnnals is running, ${state}\n\n${table}${next}\n`;
};
