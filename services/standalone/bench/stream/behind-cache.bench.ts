import { join } from 'node:path';
import { streamPage } from '../../../../schemas/http/stream/stream-routes.ts';
import { CHAIN_ID } from '../../../stream/testing/fake-catcher.ts';
import { askPage } from '../../../stream/testing/http-stream-client.ts';
import { aimed } from '../measure.ts';
import { inParallel } from './fan-out.ts';
import { hasNginx, HttpCache } from './http-cache.nginx.ts';
import { CROWD } from './stream-sizes.ts';
import type { Trouble } from './troubles.ts';

const PAGES = 10;
const TAKE = 100;

/** Everybody may read its events, so that a cache may keep them for everybody. */
export const publicChain = {
  CHAINS: JSON.stringify([{ chainId: CHAIN_ID, rpcUrls: ['http://127.0.0.1:1'], public: true }]),
};

/** Clients that return through a plain HTTP cache, and read what they have missed page by page. */
export const benchBehindCache = async ({ server, published, report }: Omit<Trouble, 'tokens'>): Promise<void> => {
  if (!hasNginx) {
    process.stdout.write('behind a cache: not measured, there is no /usr/sbin/nginx and NGINX names none\n');
    return;
  }
  const [contractAddress = ''] = published.contracts;
  const cache = await HttpCache.start(join(server.folder, 'nginx'), server.url);
  try {
    /** How many requests for each full page the node answered, by cursor. */
    const byNode = new Map<string, number>();
    const readPage = async (cursor?: string) => {
      const query = { take: String(TAKE), ...(cursor !== undefined && { cursor }) };
      const answer = await askPage(cache.url, { contractAddress, query });
      const page = streamPage.parse(await answer.json());
      const isFromNode = answer.headers.get('x-cache') !== 'HIT';
      if (page.items.length === TAKE) byNode.set(page.cursor, (byNode.get(page.cursor) ?? 0) + (isFromNode ? 1 : 0));
      return page;
    };
    const { cursor: left } = await readPage();
    for (let page = 0; page < PAGES; page += 1)
      await published.publish(Array.from({ length: TAKE }, () => contractAddress));
    let incomplete = 0;
    const startedAt = performance.now();
    await inParallel(Array.from({ length: CROWD }), async () => {
      let count = 0;
      for (let page = await readPage(left); page.items.length > 0; page = await readPage(page.cursor))
        count += page.items.length;
      if (count !== PAGES * TAKE) incomplete += 1;
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    const of = `${CROWD.toLocaleString('en')} clients, ${String(PAGES)} pages each; meant for 10,000`;
    report({
      what: 'behind nginx: pages',
      perSecond: (CROWD * (PAGES + 1)) / seconds,
      count: CROWD * (PAGES + 1),
      seconds,
    });
    const most = Math.max(...byNode.values());
    report(
      aimed(
        { what: 'behind nginx: requests for a page that reach the node', value: most, unit: '' },
        { atMost: 10, of },
      ),
    );
    report(aimed({ what: 'behind nginx: incomplete', value: incomplete, unit: 'clients' }, { atMost: 0, of }));
  } finally {
    await cache.stop();
  }
};
