import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { casesOf } from '../../shared/testing/cases.ts';
import { hasChromium } from '../../shared/testing/processes/chromium.ts';
import { temporaryFolder } from '../../shared/testing/temporary-folder.ts';
import { ClientPage } from './testing/clients/browser.ts';
import { eventually } from '../../shared/testing/eventually.ts';
import { pause } from '../../shared/primitives/waiting/pause.ts';
import { SeededRandom } from '../../shared/testing/simulation/seeded-random.ts';
import { CuttingProxy } from './testing/clients/cutting-proxy.ts';
import { curl, eventStream, hasCurl, pages, socket, type KindOfClient } from './testing/clients/kinds-of-client.ts';
import { library } from './testing/clients/library.ts';
import { FoldedEvents, ReorganisedContract } from './testing/clients/reorganised-contract.ts';
import { streamUnderTest } from './testing/stream-under-test.module.ts';

/** `CLIENT_SEEDS=1000 npm test -- stream/every-client` tries as many, `SEED=17` that one alone. */
const { CLIENT_SEEDS, SEED } = process.env;
const SEEDS = Number(CLIENT_SEEDS ?? casesOf(50));
const seeds = SEED === undefined ? Array.from({ length: SEEDS }, (_, index) => index + 1) : [Number(SEED)];
const PATIENCE_MS = 60_000;
const STEPS = 12;
/** A browser waits for seconds before it connects again, so that it takes part in some of the seeds only. */
const BROWSER_EVERY = 5;
const kinds: Record<string, KindOfClient> = { pages, eventStream, socket, library, ...(hasCurl && { curl }) };
if (!hasChromium)
  process.stdout.write(
    'every kind of client: without EventSource and @annals/client in a page, there is no /usr/bin/chromium and CHROMIUM names none\n',
  );
if (!hasCurl) process.stdout.write('every kind of client: without curl, there is no /usr/bin/curl\n');

/** Tokens of sessions that end now and then; a request for one may fail. */
const tokensOf = (stream: Awaited<ReturnType<typeof streamUnderTest>>) => {
  let session = 1;
  return {
    /** The requests of one client, which has random numbers of its own: when it asks changes nothing for others. */
    requests: (random: SeededRandom) => () => {
      if (random.chance(0.2)) return Promise.reject(new Error('the token request failed'));
      return stream.tokens.accessToken({ claims: { sid: `ses_${String(session)}` } });
    },
    revoke: async () => {
      const ended = session;
      session += 1;
      await stream.revokeSession(`ses_${String(ended)}`);
    },
  };
};

/** Returns what is wrong with what the clients have, as sentences. */
const violationsOf = async (seed: number, browser: ClientPage | undefined): Promise<string[]> => {
  const random = new SeededRandom(seed);
  // A client of Socket.IO outside browsers names the address that it connects to as its origin.
  const proxy = await CuttingProxy.start(() => stream.url());
  await using stream = await streamUnderTest({ environment: { STREAM_URL: proxy.url } });
  if (browser) await stream.allowOrigin(browser.origin);
  const { eventSource, libraryInChromium } = browser ?? {};
  const all = { ...kinds, ...(eventSource && { eventSource }), ...(libraryInChromium && { libraryInChromium }) };
  const contract = new ReorganisedContract(stream.catcher, await stream.registerContract(), random);
  // The fake catcher stores nothing in the event store: an empty topic would look as if its messages were deleted.
  await contract.publishAll();
  const tokens = tokensOf(stream);
  const leaving = new AbortController();
  const folds = new Map(Object.keys(all).map((name) => [name, new FoldedEvents()]));
  const following = Object.entries(all).map(([name, kind], at) =>
    kind({
      ...{ url: proxy.url, contractAddress: contract.contractAddress, signal: leaving.signal },
      token: tokens.requests(new SeededRandom(1_000 * seed + at)),
      take: (event) => folds.get(name)?.take(event),
      hasGap: () => folds.get(name)?.violations.push('it was told of a gap'),
      violate: (sentence) => folds.get(name)?.violations.push(sentence),
    }),
  );
  for (let step = 0; step < STEPS; step += 1) {
    await contract.change();
    if (random.chance(0.3)) proxy.cut();
    if (random.chance(0.15)) await tokens.revoke();
    if (random.chance(0.1)) await stream.restart();
    await pause(random.between(0, 60));
  }
  const last = await contract.publishAll();
  const wanted = [...contract.ids].sort();
  for (const [name, fold] of folds)
    await eventually(() => fold.ids.has(last), PATIENCE_MS, `${name} must be told of the last event`);
  leaving.abort();
  await Promise.all(following);
  await proxy.close();
  return [...folds].flatMap(([name, { ids, violations }]) => {
    const missing = wanted.filter((id) => !ids.has(id)).map((id) => `${id} is missing`);
    const surplus = [...ids].filter((id) => !wanted.includes(id)).map((id) => `${id} is not on the chain`);
    return [...missing, ...surplus, ...violations].map((violation) => `${name}: ${violation}`);
  });
};

describe('every kind of client', () => {
  const folder = temporaryFolder();
  let browser: ClientPage | undefined;
  beforeAll(async () => {
    if (hasChromium) browser = await ClientPage.open(join(folder, 'chromium'));
  });
  afterAll(() => browser?.close());

  it.each(seeds)(
    'has what the chain has, whatever is reorganised, cut, revoked and started again: SEED=%d',
    async (seed) => {
      const hasBrowser = SEED !== undefined || seed % BROWSER_EVERY === 1;
      expect(await violationsOf(seed, hasBrowser ? browser : undefined)).toEqual([]);
    },
  );
});
