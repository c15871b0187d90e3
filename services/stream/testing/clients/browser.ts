import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamEvent } from '../../../../schemas/socket/stream-messages.ts';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { ChromiumPage } from '../../../../shared/testing/processes/chromium.ts';
import { eventually } from '../../../../shared/testing/eventually.ts';
import { CHAIN_ID } from '../fake-catcher.ts';
import { streamAddress } from '../http-stream-client.ts';
import type { KindOfClient } from './kinds-of-client.ts';
import { LIBRARY_SCRIPT, libraryModules } from './library-page.ts';
import { tokenService } from './token-service.ts';

const LOOK_EVERY_MS = 50;
const LOADED_WITHIN_MS = 60_000;

/** A page as an app would write it: the browser connects again by itself, unless the server refused. */
const PAGE = `<!doctype html><title>Shop</title><script>
let source, events;
const follow = async (address, lastId) => {
  const token = await fetch('/token').then((answer) => (answer.ok ? answer.text() : undefined)).catch(() => undefined);
  if (token === undefined) return setTimeout(follow, 20, address, lastId);
  const url = new URL(address);
  url.searchParams.set('access_token', token);
  if (lastId) {
    url.searchParams.delete('fromBlock');
    url.searchParams.set('cursor', lastId);
  }
  const own = (source = new EventSource(url));
  let last = lastId;
  own.addEventListener('event', (message) => {
    events.push(JSON.parse(message.data));
    last = message.lastEventId;
  });
  own.addEventListener('live', (message) => (last = message.lastEventId));
  own.addEventListener('error', () => {
    if (own === source && own.readyState === EventSource.CLOSED) setTimeout(follow, 20, address, last);
  });
};
const begin = (address) => {
  source?.close();
  events = [];
  source = undefined;
  void follow(address);
};
const takeEvents = () => events.splice(0);
</script>${LIBRARY_SCRIPT}`;

/** A browser with a page of an app that follows a channel by its own EventSource, and by `@annals/client`. */
export class ClientPage {
  private token: () => Promise<string> = () => Promise.reject(new Error('nobody follows'));

  private constructor(
    private readonly site: Server,
    private readonly page: ChromiumPage,
    /** Which the stream must allow. */
    readonly origin: string,
  ) {}

  static async open(folder: string): Promise<ClientPage> {
    const modules = await libraryModules();
    const tokensOfLibrary = tokenService(() => opened.token());
    const site = createServer((request, response) => {
      const { url = '/' } = request;
      const code = modules.get(url);
      if (code !== undefined) response.setHeader('content-type', 'text/javascript').end(code);
      else if (url.startsWith('/auth/')) tokensOfLibrary(request, response);
      else if (url === '/token') opened.answerToken(request, response);
      else response.setHeader('content-type', 'text/html').end(PAGE);
    });
    site.listen(0, 'localhost');
    await once(site, 'listening');
    const origin = `http://localhost:${String((site.address() as AddressInfo).port)}`;
    const page = await ChromiumPage.open(folder);
    const opened = new ClientPage(site, page, origin);
    await page.send('Page.enable');
    await page.send('Page.navigate', { url: origin });
    await eventually(() => page.evaluate('!!window.beginLibrary'), LOADED_WITHIN_MS, 'the page must be loaded');
    return opened;
  }

  private readonly answerToken: RequestListener = (_, response) => {
    this.token().then(
      (token) => response.end(token),
      () => response.writeHead(503).end(),
    );
  };

  readonly eventSource: KindOfClient = async ({ url, contractAddress, token, take, signal }) => {
    this.token = token;
    const { href } = streamAddress(url, { contractAddress, query: { fromBlock: '0' } });
    await this.page.evaluate(`begin(${JSON.stringify(href)})`);
    while (!isAborted(signal)) {
      for (const event of (await this.page.evaluate('takeEvents()')) as StreamEvent[]) take(event);
      await pause(LOOK_EVERY_MS);
    }
    await this.page.evaluate('source?.close()');
  };

  readonly libraryInChromium: KindOfClient = async ({ url, contractAddress, token, take, violate, signal }) => {
    this.token = token;
    const channel = { chainId: CHAIN_ID, contractAddress, eventSignature: 'Transfer' };
    await this.page.evaluate(`beginLibrary(${JSON.stringify(url)}, ${JSON.stringify(channel)})`);
    while (!isAborted(signal)) {
      const came = (await this.page.evaluate('takeFromLibrary()')) as { events: StreamEvent[]; violations: string[] };
      for (const event of came.events) take(event);
      for (const violation of came.violations) violate(violation);
      await pause(LOOK_EVERY_MS);
    }
    await this.page.evaluate('endLibrary()');
  };

  async close(): Promise<void> {
    await this.page.close();
    this.site.closeAllConnections();
    this.site.close();
  }
}
