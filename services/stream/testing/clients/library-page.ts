import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientModules, javascriptOf } from '../../../../shared/tooling/client/pack-client.ts';

const root = join(import.meta.dirname, '../../../..');
const SOCKET_IO = 'node_modules/socket.io-client/dist/socket.io.esm.min.js';
const IMPORTS = {
  '@annals/client': '/client/annals-client.js',
  'socket.io-client': '/socket.io.js',
  'library-follower': '/library-follower.js',
};

/** What a page needs that follows a channel by the packed `@annals/client`: begins, takes what came, and ends. */
export const LIBRARY_SCRIPT = `<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<script type="module">
import { createClient } from '@annals/client';
import { followByLibrary } from 'library-follower';

let ending, came;
const { origin } = location;
window.endLibrary = () => ending?.abort();
window.beginLibrary = (streamUrl, channel) => {
  endLibrary();
  const { signal } = (ending = new AbortController());
  const own = (came = { events: [], violations: [] });
  const urls = { accountUrl: origin, eventUrl: streamUrl, streamUrl };
  const app = { apiKey: 'ak_1', signRequest: () => '0x', storage: localStorage };
  const annals = createClient({ ...urls, ...app, repeats: 0 });
  const take = (event) => own.events.push(event);
  const violate = (sentence) => own.violations.push(sentence);
  void followByLibrary({ annals, channel, signal, take, violate });
};
window.takeFromLibrary = () => ({ events: came.events.splice(0), violations: came.violations.splice(0) });
</script>`;

/** Returns the modules of that page by their addresses. */
export const libraryModules = async (): Promise<Map<string, string>> => {
  const client = Array.from(await clientModules(root), ([name, code]) => [`/client/${name}`, code] as const);
  return new Map([
    ...client,
    ['/socket.io.js', readFileSync(join(root, SOCKET_IO), 'utf8')],
    ['/library-follower.js', await javascriptOf(join(import.meta.dirname, 'library-follower.ts'))],
  ]);
};
